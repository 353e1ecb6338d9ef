"""A headless Chromium that uses the console as a person does. Selenium starts it; nothing else imports this module."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

T = TypeVar("T")
WAIT_S = 20.0
"""The longest wait for a change of the page: Chromium shares the machine with other tests."""
DESKTOP, PHONE = (1280, 900), (390, 844)
FLAGS = (
    "--headless=new",
    "--no-sandbox",  # containers run as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
)


NAMES_OF_BUTTONS = """
const parts = {addresses: 'address', notices: 'notice', confirm: 'dialog'};
const partOf = (button) => Object.keys(parts).find((id) => button.closest('#' + id));
const nameOfView = () => location.hash.replace(/^#\\/?/, '').split(/[/?]/)[0] || 'overview';
const viewOf = (button) => button.closest('main') ? nameOfView() : 'bar';
const nameOf = (button) => {
  const part = partOf(button);
  if (part === 'addresses') return 'address: ' + button.textContent.split(' ')[0];
  return `${parts[part] ?? viewOf(button)}: ${button.textContent.trim()}`;
};
const isOffered = (button) => !button.closest('.pager[hidden]');
"""
"""JavaScript functions that name buttons. The button of each row of a table has the same name."""


class Browser:
    """One window."""

    def __init__(self) -> None:
        options = Options()
        options.binary_location = "/usr/bin/chromium"
        for flag in FLAGS:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver: Any = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.url = ""
        self.clicked: set[str] = set()
        """The buttons that tests have clicked so far, as `buttons` names them."""
        self.resize(DESKTOP)

    def close(self) -> None:
        """End the browser."""
        self.driver.quit()

    # the window

    def resize(self, size: tuple[int, int]) -> None:
        """Set the size of the page (width, height), such as DESKTOP or PHONE."""
        metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size == PHONE}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def scheme(self, name: str) -> None:
        """Set the color scheme: `light` or `dark`."""
        feature = {"name": "prefers-color-scheme", "value": name}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    def picture(self, file: Path, *, whole: bool = False) -> None:
        """Write a picture of the window, or of the whole page."""
        file.parent.mkdir(parents=True, exist_ok=True)
        parameters = {"format": "png", "captureBeyondViewport": whole}
        found = self.driver.execute_cdp_cmd("Page.captureScreenshot", parameters)
        file.write_bytes(base64.b64decode(found["data"]))

    # views

    def open(self, url: str, view: str = "") -> None:
        """Open a view, and wait until it has been read."""
        self.url = url
        self.driver.get("about:blank")
        self.driver.get(f"{url}/#/{view}")
        self.until_read()

    def go(self, view: str) -> None:
        """Go to a view of the open page."""
        if self.script("return location.hash") == f"#/{view}":
            return
        self.script("document.getElementById('main').dataset.revision = ''; location.hash = arguments[0]", f"#/{view}")
        self.until_read()

    def until_read(self) -> None:
        """Wait until the page is live and its view has been read."""
        self.until(lambda: self.text("#live").endswith("Live"), "the page is live")
        self.until(lambda: self.script("return document.getElementById('main').dataset.revision"), "the view is read")

    def until(self, holds: Callable[[], T], what: str = "") -> T:
        """Wait until a condition holds, and return its value."""

        def once(_driver: Any) -> T | None:
            try:
                return holds() or None
            except (StaleElementReferenceException, IndexError):
                return None

        found: T = WebDriverWait(self.driver, WAIT_S, 0.05).until(once, what)
        return found

    # reading

    def script(self, text: str, *arguments: Any) -> Any:
        """Run a script in the page."""
        return self.driver.execute_script(text, *arguments)

    def all(self, selector: str) -> list[Any]:
        """Return the elements of a CSS selector."""
        found: list[Any] = self.driver.find_elements(By.CSS_SELECTOR, selector)
        return found

    def text(self, selector: str = "main") -> str:
        """Return the text of the first element, as a person sees it."""
        return str(self.all(selector)[0].text)

    def shows(self, text: str, selector: str = "main") -> None:
        """Wait until an element shows a text."""
        self.until(lambda: text in self.text(selector), f"{selector} shows {text}")

    def hides(self, text: str, selector: str = "main") -> None:
        """Wait until an element does not show a text."""
        self.until(lambda: text not in self.text(selector), f"{selector} no longer shows {text}")

    def rows(self, caption: str) -> list[str]:
        """Return the texts of the rows of a table."""
        return [each.text for each in self.all(f'table[aria-label="{caption}"] tbody tr')]

    def logged(self) -> list[str]:
        """Return the errors that the browser has logged since the last call, such as violations of the security policy.

        Errors of requests that the emulator rejects, or that find it stopped, are left out.
        """
        found = [each["message"] for each in self.driver.get_log("browser") if each["level"] == "SEVERE"]
        return [each for each in found if "Failed to load resource" not in each and "net::ERR_" not in each]

    def axe(self, source: str) -> list[str]:
        """Return the violations that axe-core finds, of impact serious or critical, with the elements."""
        self.script(source)
        found = self.driver.execute_async_script(
            "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then(done)"
        )
        return [
            f"{each['id']}: {each['help']}: {[node['target'] for node in each['nodes']][:3]} "
            f"{json.dumps(each['nodes'][0].get('failureSummary', ''))}"
            for each in found["violations"]
            if each["impact"] in ("serious", "critical")
        ]

    def measures(self) -> list[float]:
        """Return the durations (ms) of the updates of the page since the last call."""
        found: list[float] = self.script(
            "const found = performance.getEntriesByName('console-update').map((each) => each.duration);"
            "performance.clearMeasures('console-update'); return found"
        )
        return found

    def busy_ms(self) -> float:
        """Return the time (ms) that the page's thread has worked so far."""
        self.driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        found = self.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        return next(float(each["value"]) * 1000 for each in found if each["name"] == "TaskDuration")

    # acting

    def click(self, text: str, within: str = "body") -> None:
        """Click the button or link with a text, or with a label."""
        found = self.until(lambda: self._button(text, within), f"there is a button {text}")
        self.script("arguments[0].scrollIntoView({block: 'center'})", found)  # the bar covers the edge of the page
        self.clicked |= set(self.script(f"{NAMES_OF_BUTTONS} return [arguments[0]].map(nameOf)", found))
        found.click()

    def buttons(self) -> set[str]:
        """Return the names of all buttons of the open view, also of those in closed details and dialogs.

        A name consists of the view, or of the part of the page around it, and of the text of the button without the
        name of the thing that it acts on. Buttons that move through pages count if there are several pages.
        """
        return set(
            self.script(
                f"{NAMES_OF_BUTTONS} return [...document.querySelectorAll('button')].filter(isOffered).map(nameOf)"
            )
        )

    def _button(self, text: str, within: str) -> Any:
        for each in self.all(f"{within} button, {within} summary, {within} nav a"):
            if text in (each.text, each.get_attribute("aria-label")) and each.is_enabled() and each.is_displayed():
                return each
        return None

    def field(self, label: str) -> Any:
        """Return the field with a label."""

        def found() -> Any:
            for each in self.all("label"):
                if each.text.strip() == label and each.is_displayed():
                    return self.script(
                        "const label = arguments[0];"
                        "return label.htmlFor ? document.getElementById(label.htmlFor) : label.querySelector('input')",
                        each,
                    )
            return None

        return self.until(found, f"there is a field {label}")

    def fill(self, label: str, text: str) -> None:
        """Replace the text of a field."""
        field = self.field(label)
        field.clear()
        field.send_keys(text)

    def choose(self, label: str, value: str) -> None:
        """Choose an option of a field by its value."""
        field = self.field(label)
        option = next(
            each for each in field.find_elements(By.TAG_NAME, "option") if each.get_attribute("value") == value
        )
        option.click()

    def press(self, *keys: str) -> None:
        """Press keys one after another, such as TAB."""
        for key in keys:
            self.driver.switch_to.active_element.send_keys(getattr(Keys, key, key))

    def filter(self, text: str) -> None:
        """Set the filter of the page."""
        self.fill("Filter", text)

    def confirm(self, answer: str) -> None:
        """Click a button of the open dialog."""
        self.click(answer, "dialog[open]")

    def noticed(self, text: str) -> None:
        """Wait for a notice that contains a text, and close all notices."""
        self.until(lambda: text in self.text("#notices"), f"a notice says {text}")
        self.script("document.getElementById('notices').replaceChildren()")
