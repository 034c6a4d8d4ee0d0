"""Reports in a browser, network off."""

import pytest


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
