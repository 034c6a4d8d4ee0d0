"""Short lines in twenty-two languages and eleven scripts, written for tests and benchmarks, none from a corpus.

For each language: the names of two classes as its readers would write them, four source lines of each class, and two
target lines of each class, which share words with the source, often in another inflection. Five to ten words each
where the script has words.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Lines:
    """One language's lines: ``source`` and ``target`` are pairs of text and class."""

    classes: tuple[str, str]
    source: list[tuple[str, str]]
    target: list[tuple[str, str]]

    @property
    def texts(self) -> list[str]:
        return [text for text, _ in (*self.source, *self.target)]


def _lines(first: str, second: str, food: str, travel: str) -> Lines:
    sides: tuple[list, list] = ([], [])
    for label, block in ((first, food), (second, travel)):
        for number, line in enumerate(filter(None, (line.strip() for line in block.splitlines()))):
            sides[number >= 4].append((line, label))
    return Lines((first, second), *sides)


LINES: dict[str, Lines] = {
    "en": _lines(
        "food",
        "travel",
        """
        The soup was cold and the bread was dry
        My sister cooks a very good soup for us
        We ate fresh bread with butter this morning
        This cook never puts enough salt in his dishes
        They cooked a soup that nobody wanted to eat
        I would like two breads and some butter
        """,
        """
        The train to the coast was an hour late
        Our bus did not stop at the station
        You can buy the ticket on the train
        There were no seats left on the bus
        All trains stop at this station before noon
        She lost her tickets somewhere in the bus
        """,
    ),
    "de": _lines(
        "Essen",
        "Reise",
        """
        Die Suppe war kalt und das Brot war trocken
        Meine Schwester kocht für uns eine sehr gute Suppe
        Heute früh gab es frisches Brot mit Butter
        Dieser Koch nimmt für seine Gerichte nie genug Salz
        Sie kochten Suppen, die keiner von uns essen wollte
        Ich hätte gern zwei Brote und etwas Butter
        """,
        """
        Der Zug an die Küste hatte eine Stunde Verspätung
        Unser Bus hat am Bahnhof nicht gehalten
        Die Fahrkarte kann man auch im Zug kaufen
        Im Bus gab es keinen freien Platz mehr
        Alle Züge halten vor Mittag an diesem Bahnhof
        Sie hat ihre Fahrkarten irgendwo im Bus verloren
        """,
    ),
    "fr": _lines(
        "cuisine",
        "voyage",
        """
        La soupe était froide et le pain était sec
        Ma sœur nous prépare une très bonne soupe
        Ce matin nous avons mangé du pain avec du beurre
        Ce cuisinier ne met jamais assez de sel
        Ils ont préparé des soupes que personne ne voulait manger
        Je voudrais deux pains et un peu de beurre
        """,
        """
        Le train pour la côte avait une heure de retard
        Notre bus ne s'est pas arrêté à la gare
        On peut acheter le billet dans le train
        Il n'y avait plus de place dans le bus
        Tous les trains s'arrêtent à cette gare avant midi
        Elle a perdu ses billets quelque part dans le bus
        """,
    ),
    "es": _lines(
        "comida",
        "viaje",
        """
        La sopa estaba fría y el pan estaba seco
        Mi hermana nos prepara una sopa muy buena
        Esta mañana comimos pan fresco con mantequilla
        Este cocinero nunca pone bastante sal en los platos
        Prepararon unas sopas que nadie quería comer
        Quisiera dos panes y un poco de mantequilla
        """,
        """
        El tren a la costa llegó con una hora de retraso
        Nuestro autobús no paró en la estación
        El billete se puede comprar en el tren
        No quedaba ningún asiento en el autobús
        Todos los trenes paran en esta estación antes del mediodía
        Ella perdió sus billetes en algún autobús
        """,
    ),
    "it": _lines(
        "cucina",
        "viaggio",
        """
        La zuppa era fredda e il pane era secco
        Mia sorella ci prepara una zuppa molto buona
        Stamattina abbiamo mangiato pane fresco con il burro
        Questo cuoco non mette mai abbastanza sale
        Hanno preparato delle zuppe che nessuno voleva mangiare
        Vorrei due pani e un po' di burro
        """,
        """
        Il treno per la costa aveva un'ora di ritardo
        Il nostro autobus non si è fermato alla stazione
        Il biglietto si può comprare anche sul treno
        Non c'era più nessun posto sull'autobus
        Tutti i treni si fermano a questa stazione prima di mezzogiorno
        Lei ha perso i suoi biglietti da qualche parte sull'autobus
        """,
    ),
    "pt": _lines(
        "comida",
        "viagem",
        """
        A sopa estava fria e o pão estava seco
        A minha irmã faz uma sopa muito boa para nós
        Hoje de manhã comemos pão fresco com manteiga
        Este cozinheiro nunca põe sal suficiente nos pratos
        Eles fizeram sopas que ninguém queria comer
        Eu queria dois pães e um pouco de manteiga
        """,
        """
        O comboio para a costa chegou com uma hora de atraso
        O nosso autocarro não parou na estação
        O bilhete pode ser comprado no comboio
        Não havia nenhum lugar livre no autocarro
        Todos os comboios param nesta estação antes do meio-dia
        Ela perdeu os bilhetes dela em algum autocarro
        """,
    ),
    "nl": _lines(
        "eten",
        "reizen",
        """
        De soep was koud en het brood was droog
        Mijn zus kookt voor ons een heel lekkere soep
        Vanmorgen aten wij vers brood met boter
        Deze kok doet nooit genoeg zout in zijn gerechten
        Zij kookten soepen die niemand van ons wilde eten
        Ik wil graag twee broden en een beetje boter
        """,
        """
        De trein naar de kust had een uur vertraging
        Onze bus is niet bij het station gestopt
        Het kaartje kun je ook in de trein kopen
        Er was geen enkele plaats meer vrij in de bus
        Alle treinen stoppen voor de middag bij dit station
        Zij heeft haar kaartjes ergens in de bus verloren
        """,
    ),
    "pl": _lines(
        "jedzenie",
        "podróż",
        """
        Zupa była zimna, a chleb był suchy
        Moja siostra gotuje dla nas bardzo dobrą zupę
        Dzisiaj rano jedliśmy świeży chleb z masłem
        Ten kucharz nigdy nie daje dość soli do potraw
        Gotowali zupy, których nikt nie chciał jeść
        Poproszę dwa chleby i trochę masła
        """,
        """
        Pociąg na wybrzeże miał godzinę opóźnienia
        Nasz autobus nie zatrzymał się na dworcu
        Bilet można kupić także w pociągu
        W autobusie nie było już wolnych miejsc
        Wszystkie pociągi zatrzymują się na tym dworcu przed południem
        Zgubiła swoje bilety gdzieś w autobusie
        """,
    ),
    "fi": _lines(
        "ruoka",
        "matka",
        """
        Keitto oli kylmää ja leipä oli kuivaa
        Siskoni keittää meille todella hyvää keittoa
        Tänä aamuna söimme tuoretta leipää ja voita
        Tämä kokki ei koskaan pane tarpeeksi suolaa
        He tekivät keittoja, joita kukaan ei halunnut syödä
        Haluaisin kaksi leipää ja vähän voita
        """,
        """
        Juna rannikolle oli tunnin myöhässä
        Meidän bussimme ei pysähtynyt asemalla
        Lipun voi ostaa myös junasta
        Bussissa ei ollut enää yhtään vapaata paikkaa
        Kaikki junat pysähtyvät tällä asemalla ennen puoltapäivää
        Hän kadotti lippunsa jonnekin bussiin
        """,
    ),
    "tr": _lines(
        "yemek",
        "yolculuk",
        """
        Çorba soğuktu ve ekmek de çok kuruydu
        Kız kardeşim bize çok güzel bir çorba yapıyor
        Bu sabah taze ekmek ile tereyağı yedik
        Bu aşçı yemeklere hiçbir zaman yeterince tuz koymuyor
        Kimsenin içmek istemediği çorbalar yaptılar
        İki ekmek ve biraz tereyağı istiyorum
        """,
        """
        Sahile giden tren bir saat geç kaldı
        Bizim otobüs istasyonda durmadı
        Bileti trende de satın alabilirsiniz
        Otobüste hiç boş yer kalmamıştı
        Bütün trenler öğleden önce bu istasyonda durur
        Biletlerini otobüste bir yerde kaybetti
        """,
    ),
    "ru": _lines(
        "еда",
        "поездка",
        """
        Суп был холодный, а хлеб совсем сухой
        Моя сестра варит для нас очень вкусный суп
        Сегодня утром мы ели свежий хлеб с маслом
        Этот повар никогда не кладёт достаточно соли
        Они сварили супы, которые никто не хотел есть
        Дайте мне, пожалуйста, два хлеба и немного масла
        """,
        """
        Поезд на побережье опоздал на целый час
        Наш автобус не остановился на станции
        Билет можно купить и прямо в поезде
        В автобусе больше не было свободных мест
        Все поезда останавливаются на этой станции до полудня
        Она потеряла свои билеты где-то в автобусе
        """,
    ),
    "uk": _lines(
        "їжа",
        "подорож",
        """
        Суп був холодний, а хліб зовсім сухий
        Моя сестра варить для нас дуже смачний суп
        Сьогодні вранці ми їли свіжий хліб із маслом
        Цей кухар ніколи не кладе достатньо солі
        Вони зварили суп, який ніхто не хотів їсти
        Мені, будь ласка, один хліб і трохи масла
        """,
        """
        Потяг на узбережжя запізнився на цілу годину
        Наш автобус не зупинився на станції
        Квиток можна купити також у потязі
        В автобусі більше не було вільних місць
        Кожен потяг зупиняється на цій станції до полудня
        Вона загубила свій квиток, коли їхала в автобусі
        """,
    ),
    "el": _lines(
        "φαγητό",
        "ταξίδι",
        """
        Η σούπα ήταν κρύα και το ψωμί ήταν ξερό
        Η αδελφή μου μας φτιάχνει μια πολύ καλή σούπα
        Σήμερα το πρωί φάγαμε φρέσκο ψωμί με βούτυρο
        Αυτός ο μάγειρας δεν βάζει ποτέ αρκετό αλάτι
        Έφτιαξαν σούπες που κανείς δεν ήθελε να φάει
        Θα ήθελα δύο ψωμιά και λίγο βούτυρο
        """,
        """
        Το τρένο για την ακτή είχε μία ώρα καθυστέρηση
        Το λεωφορείο μας δεν σταμάτησε στον σταθμό
        Το εισιτήριο μπορείς να το αγοράσεις στο τρένο
        Δεν υπήρχε πια καμία θέση στο λεωφορείο
        Όλα τα τρένα σταματούν σε αυτόν τον σταθμό
        Έχασε τα εισιτήριά της κάπου στο λεωφορείο
        """,
    ),
    "ar": _lines(
        "طعام",
        "سفر",
        """
        كان الحساء باردا وكان الخبز جافا جدا
        أختي تطبخ لنا دائما حساء لذيذا
        أكلنا هذا الصباح خبزا طازجا مع الزبدة
        هذا الطباخ لا يضع أبدا ما يكفي من الملح
        طبخوا لنا الحساء ولم يرغب أحد في أكله
        أريد قطعتين من الخبز وقليلا من الزبدة
        """,
        """
        تأخر القطار المتجه إلى الساحل ساعة كاملة
        لم تتوقف الحافلة التي ركبناها في المحطة
        يمكنك أن تشتري التذكرة داخل القطار أيضا
        لم يبق أي مقعد فارغ في الحافلة
        كل قطار يتوقف في هذه المحطة قبل الظهر
        فقدت هي التذكرة في مكان ما في الحافلة
        """,
    ),
    "fa": _lines(
        "غذا",
        "سفر",
        """
        سوپ سرد بود و نان هم خشک شده بود
        خواهرم برای ما سوپ خیلی خوبی می‌پزد
        امروز صبح نان تازه با کره خوردیم
        این آشپز هیچ وقت نمک کافی نمی‌ریزد
        سوپی پختند که هیچ کس نمی‌خواست بخورد
        لطفا دو نان و کمی کره به من بدهید
        """,
        """
        قطار ساحل یک ساعت دیر به مقصد رسید
        اتوبوس ما در ایستگاه توقف نکرد
        بلیت را می‌توان در خود قطار هم خرید
        در اتوبوس دیگر هیچ جای خالی نبود
        همه قطارها پیش از ظهر در این ایستگاه می‌ایستند
        او بلیت خود را جایی در اتوبوس گم کرد
        """,
    ),
    "he": _lines(
        "אוכל",
        "נסיעה",
        """
        המרק היה קר והלחם היה יבש מאוד
        אחותי מבשלת לנו תמיד מרק טעים
        הבוקר אכלנו לחם טרי עם חמאה
        הטבח הזה אף פעם לא שם מספיק מלח
        הם בישלו מרק שאף אחד לא רצה לאכול
        אני רוצה בבקשה לחם וקצת חמאה
        """,
        """
        הרכבת אל החוף איחרה בשעה שלמה
        האוטובוס שלנו לא עצר ליד התחנה
        אפשר לקנות את הכרטיס גם בתוך הרכבת
        לא נשאר אף מקום פנוי באוטובוס הזה
        כל הרכבות עוצרות כאן לפני הצהריים, זאת התחנה
        היא איבדה את הכרטיס שלה איפשהו באוטובוס
        """,
    ),
    "hi": _lines(
        "खाना",
        "यात्रा",
        """
        सूप ठंडा था और रोटी भी सूखी थी
        मेरी बहन हमारे लिए बहुत अच्छा सूप बनाती है
        आज सुबह हमने ताज़ी रोटी मक्खन के साथ खाई
        यह रसोइया कभी पूरा नमक नहीं डालता
        उन्होंने जो सूप बनाया उसे कोई पीना नहीं चाहता था
        मुझे दो रोटियाँ और थोड़ा मक्खन चाहिए
        """,
        """
        समुद्र तट जाने वाली ट्रेन एक घंटा देर से आई
        हमारी बस स्टेशन पर नहीं रुकी
        टिकट ट्रेन में भी खरीदा जा सकता है
        बस में कोई सीट खाली नहीं बची थी
        सभी ट्रेनें दोपहर से पहले इस स्टेशन पर रुकती हैं
        उसने अपनी टिकटें बस में कहीं खो दीं
        """,
    ),
    "ta": _lines(
        "உணவு",
        "பயணம்",
        """
        சூப் குளிர்ந்து போனது, ரொட்டியும் காய்ந்து இருந்தது
        என் அக்கா எங்களுக்கு நல்ல சூப் செய்வாள்
        இன்று காலை வெண்ணெய் தடவிய ரொட்டி சாப்பிட்டோம்
        இந்த சமையல்காரர் ஒருபோதும் போதுமான உப்பு போடுவதில்லை
        அவர்கள் செய்த சூப் யாருக்கும் பிடிக்கவில்லை
        எனக்கு இரண்டு ரொட்டி, கொஞ்சம் வெண்ணெய் வேண்டும்
        """,
        """
        கடற்கரைக்குச் செல்லும் ரயில் ஒரு மணி நேரம் தாமதம்
        எங்கள் பேருந்து நிலையத்தில் நிற்கவில்லை
        பயணச்சீட்டு ரயில் உள்ளேயும் வாங்கலாம்
        இந்த பேருந்து முழுவதும் இடம் இல்லை
        எல்லா ரயில் வண்டிகளும் மதியத்துக்கு முன் இங்கே நிற்கும்
        அவள் பயணச்சீட்டு ஒன்றை பேருந்து ஒன்றில் தொலைத்தாள்
        """,
    ),
    "th": _lines(
        "อาหาร",
        "การเดินทาง",
        """
        ซุปเย็นแล้วและขนมปังก็แห้งมาก
        พี่สาวของฉันทำซุปอร่อยให้พวกเรากิน
        เช้านี้เรากินขนมปังสดกับเนย
        พ่อครัวคนนี้ไม่เคยใส่เกลือพอเลย
        พวกเขาทำซุปที่ไม่มีใครอยากกิน
        ขอขนมปังสองก้อนกับเนยนิดหน่อย
        """,
        """
        รถไฟไปชายทะเลมาช้าหนึ่งชั่วโมง
        รถเมล์ของเราไม่ได้จอดที่สถานี
        ซื้อตั๋วบนรถไฟก็ได้เหมือนกัน
        บนรถเมล์ไม่มีที่นั่งว่างเหลืออยู่เลย
        รถไฟทุกขบวนจอดที่สถานีนี้ก่อนเที่ยง
        เธอทำตั๋วหายที่ไหนสักแห่งบนรถเมล์
        """,
    ),
    "ja": _lines(
        "料理",
        "旅行",
        """
        スープは冷たくて、パンは乾いていました
        姉はいつも私たちにおいしいスープを作ってくれます
        今朝は焼きたてのパンとバターを食べました
        この料理人は塩を十分に入れたことがありません
        彼らが作ったスープは誰も食べたがりませんでした
        パンを二つとバターを少しください
        """,
        """
        海岸行きの電車は一時間遅れました
        私たちのバスは駅に止まりませんでした
        切符は電車の中でも買えます
        バスにはもう空いている席がありませんでした
        すべての電車は昼前にこの駅に止まります
        彼女はバスのどこかで切符をなくしました
        """,
    ),
    "ko": _lines(
        "음식",
        "여행",
        """
        수프는 차가웠고 빵은 아주 말라 있었다
        언니는 우리에게 늘 맛있는 수프를 끓여 준다
        오늘 아침에 우리는 신선한 빵과 버터를 먹었다
        이 요리사는 소금을 충분히 넣은 적이 없다
        그들이 끓인 수프는 아무도 먹고 싶어 하지 않았다
        빵 두 개와 버터를 조금 주세요
        """,
        """
        해변으로 가는 기차가 한 시간 늦게 왔다
        우리 버스는 역에 서지 않고 지나갔다
        표는 기차 안에서도 살 수 있다
        버스에는 빈자리가 하나도 남지 않았다
        모든 기차는 정오 전에 이 역에서 선다
        그녀는 버스 어딘가에서 표를 잃어버렸다
        """,
    ),
    "zh": _lines(
        "饮食",
        "旅行",
        """
        汤已经凉了,面包也很干
        我姐姐常常给我们做很好喝的汤
        今天早上我们吃了新鲜面包和黄油
        这个厨师从来不放够盐
        他们做的汤没有人想喝
        请给我两个面包和一点黄油
        """,
        """
        去海边的火车晚点了一个小时
        我们的公交车没有在车站停下来
        在火车上也可以买车票
        公交车上已经没有空座位了
        所有火车中午以前都在这个车站停
        她把车票丢在公交车上了
        """,
    ),
}
