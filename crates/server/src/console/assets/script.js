"use strict";
// Makes forms smooth. Everything works without it: each form and link does the same by itself.
(() => {
  const DELAY = 150;

  // Puts a part of a page, as the server wrote it, in the place of another. The server escapes; the policy of the page forbids whatever is no markup.
  const replace = (place, text) => {
    const parsed = new DOMParser().parseFromString(text, "text/html");
    place.replaceChildren(...parsed.body.childNodes);
    enhance(place);
  };

  const signedOut = (response) => response.redirected || response.status === 401;

  // One request at a time for each place: what comes late is not shown.
  const running = new Map();
  const load = async (form, path, place) => {
    running.get(place)?.abort();
    const stop = new AbortController();
    running.set(place, stop);
    place.setAttribute("aria-busy", "true");
    try {
      const response = await fetch(path, {
        method: "POST",
        body: new URLSearchParams(new FormData(form)),
        headers: { "deniable-fragment": "1" },
        signal: stop.signal,
        redirect: "follow",
      });
      const text = await response.text();
      if (response.redirected) return void location.assign(response.url);
      if (running.get(place) === stop) replace(place, text);
      place.dataset.state = signedOut(response) ? "signed-out" : "shown";
    } catch (error) {
      if (error.name !== "AbortError") place.dataset.state = "offline";
    } finally {
      if (running.get(place) === stop) {
        running.delete(place);
        place.removeAttribute("aria-busy");
      }
    }
  };

  // A form whose price is shown while one types.
  const live = (form) => {
    const place = document.getElementById(form.dataset.into);
    let timer;
    form.addEventListener("input", (event) => {
      if (event.target.dataset.slider) return;
      clearTimeout(timer);
      timer = setTimeout(() => load(form, form.dataset.live, place), DELAY);
    });
    form.addEventListener("submit", (event) => {
      const button = event.submitter;
      if (button?.dataset.into || button?.dataset.fill || button?.getAttribute("formaction") === form.dataset.live) {
        event.preventDefault();
        if (!button.dataset.fill) load(form, button.getAttribute("formaction"), place);
        return;
      }
      // Asked once: the button rests until the answer comes. It is sent once anyway.
      setTimeout(() => { if (button) button.disabled = true; }, 0);
    });
  };

  // A slider of a number over powers of ten, to two digits.
  const slide = (slider) => {
    const field = document.getElementById(slider.dataset.slider);
    const [least, most] = [Number(slider.dataset.least), Number(slider.dataset.most)].map(Math.log10);
    const show = () => {
      const value = Math.log10(Number(field.value));
      if (Number.isFinite(value)) slider.value = String(Math.round((100 * (value - least)) / (most - least)));
      slider.setAttribute("aria-valuetext", "ε = " + field.value);
    };
    slider.addEventListener("input", () => {
      const value = Number((10 ** (least + ((most - least) * slider.value) / 100)).toPrecision(2));
      field.value = String(Math.min(value, 10 ** most));
      slider.setAttribute("aria-valuetext", "ε = " + field.value);
      field.dispatchEvent(new Event("input", { bubbles: true }));
    });
    field.addEventListener("input", show);
    slider.hidden = false;
    show();
  };

  const set = (id, value) => {
    const field = document.getElementById(id);
    if (!field) return;
    field.value = value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  };

  const enhance = (root) => {
    root.querySelectorAll("form[data-live]").forEach(live);
    root.querySelectorAll("[data-slider]").forEach(slide);
    root.querySelectorAll("[data-fill]").forEach((button) => button.addEventListener("click", () => {
      if (button.dataset.clear) set(button.dataset.clear, "");
      set(button.dataset.fill, button.value);
    }));
    root.querySelectorAll("[data-copy]").forEach((button) => {
      button.hidden = false;
      button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = "Copy"; }, 2000);
      });
    });
    root.querySelectorAll("[data-shortcut]").forEach((button) => {
      document.getElementById(button.dataset.shortcut).addEventListener("keydown", (event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) button.click();
      });
    });
  };

  // A page that comes back from the history has its buttons back.
  addEventListener("pageshow", () => document.querySelectorAll("button:disabled").forEach((button) => { button.disabled = false; }));
  enhance(document);
})();
