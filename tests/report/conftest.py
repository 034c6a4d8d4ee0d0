"""A browser for the tests that open pages: Playwright with the Chromium of the system, network off."""

import shutil

import pytest

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)


@pytest.fixture(scope="module")
def chromium():
    api = pytest.importorskip("playwright.sync_api", reason="no playwright: pages cannot be opened")
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: pages cannot be opened")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


class Opened:
    """A page in a tab of its own, with everything it asked for or complained about."""

    def __init__(self, browser, path, *, width=1200, height=900, dark=False, paper=False, context=None):
        self.context = context or browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", offline=True
        )
        self.tab = self.context.new_page()
        self.complaints, self.requests = [], []
        self.tab.on("console", lambda message: self.complaints.append(message.text))
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.on("request", lambda request: self.requests.append(request.url))
        if paper:
            self.tab.emulate_media(media="print")
        self.address = path.resolve().as_uri()
        self.tab.goto(self.address)

    def quiet(self):
        return self.complaints == [] and self.requests == [self.address]


@pytest.fixture
def open_page(chromium):
    opened = []

    def open_(path, **look):
        opened.append(Opened(chromium, path, **look))
        return opened[-1]

    yield open_
    for page in opened:
        page.context.close()
