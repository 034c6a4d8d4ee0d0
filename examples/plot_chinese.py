"""
Chinese headlines
=================

Does Chinese need a segmenter? No: Isthmus recognises the script and reads pairs of characters. Here the headlines of a
newspaper, sorted into three sections, label short posts.
"""

import random

import isthmus
from isthmus.evaluate import accuracy
from isthmus.report.charts import draw

NEWSPAPER = {
    "sport": [
        "{国家队|省队}在{决赛|半决赛}中以{大比分|微弱优势}{战胜|不敌}对手",
        "{著名|年轻}运动员{打破|刷新}世界纪录夺得冠军",
        "{主教练|俱乐部}宣布{本赛季|下赛季}球队名单",
    ],
    "finance": [
        "{央行|银行}宣布{下调|上调}存款利率",
        "{股市|证券市场}今日{大幅|小幅}{上涨|下跌}投资者{谨慎|乐观}",
        "{上市公司|企业}公布{年度|季度}业绩利润{增长|下降}",
    ],
    "technology": [
        "{研究人员|科学家}研制出新型{芯片|电池}",
        "{公司|企业}发布{新款|新一代}{手机|电脑}搭载人工智能系统",
        "{卫星|探测器}成功发射进入{预定|太空}轨道",
    ],
}
POSTS = {
    "sport": [
        "昨晚{太精彩了|没睡好}，我们{终于赢了|又输了}！",
        "球迷都不敢相信，对手{又输了|居然赢了}",
        "今天跑步五公里，{腿好酸|纪录啦}",
    ],
    "finance": [
        "又{跌了|涨了}，我的钱包{好痛|笑了}",
        "{利率|工资}这么低，不如买基金",
        "年终奖能多发{利润|一点}吗？钱包{好痛|空了}",
    ],
    "technology": [
        "{新款|旧}手机到手，{电池|屏幕}真给力",
        "这个{人工智能|软件}也太聪明了吧",
        "半夜看{发射|火箭}直播好激动",
    ],
}


def write(templates, n, seed):
    """Headlines drawn from the templates: choices in braces, two sentences in every third."""
    rng = random.Random(seed)
    texts, labels = [], []
    for _ in range(n):
        label = rng.choice(sorted(templates))
        sentences = rng.sample(templates[label], rng.choice([1, 1, 2]))
        text = "，".join(sentences)
        while "{" in text:
            before, _, rest = text.partition("{")
            choices, _, after = rest.partition("}")
            text = before + rng.choice(choices.split("|")) + after
        texts.append(text)
        labels.append(label)
    return texts, labels


headlines, sections = write(NEWSPAPER, 200, seed=1)
posts, true = write(POSTS, 120, seed=2)

# %%
# Term projection gives each pair of characters to the section it is tied to most, and lets the surest posts add pairs
# of their own. String kernels do not help here: they want longer texts, and nearly all that these posts share with
# headlines is a pair of characters.

rows = []
for method in ("nbc", "projection", "strings"):
    result = isthmus.label(headlines, sections, posts, method=method)
    rows.append({"method": method, "accuracy": accuracy(true, result.labels)})
    print(f"{method}: {rows[-1]['accuracy']:.1%} right")

# %%
# The pairs behind one label:

result = isthmus.label(headlines, sections, posts, method="projection")
print(posts[0], "→", result.labels[0])
for row in result.reasons(0, top=4):
    if row["class"] == result.labels[0]:
        print(f"{row['contribution']:6.1f}  {row['term']}")

# %%
# The three methods in one picture:

chart = draw(
    rows, {"kind": "bar", "x": "method", "y": "accuracy", "y_format": ".0%", "y_domain": [0, 1], "order": "table"}
)
chart
