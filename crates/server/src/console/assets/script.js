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

  // The editor: what a word is, in colour; names to choose from; and a name that is clicked is inserted.
  const KEYWORDS = new Set(("ALL AND AS ASC BETWEEN BY CASE CAST CROSS CUBE DATE DESC DISTINCT ELSE END EXCEPT EXISTS EXTRACT FALSE FILTER FROM FULL GROUP HAVING IN INNER "
    + "INTERSECT INTERVAL IS JOIN LEFT LIKE LIMIT NOT NULL OFFSET ON OR ORDER OVER PARTITION RIGHT ROLLUP SELECT THEN TIMESTAMP TRUE UNION USING WHEN WHERE WITH WITHIN").split(" "));
  const FUNCTIONS = "ABS AVG COALESCE CORR COUNT DATE_PART DATE_TRUNC GREATEST LEAST MAX MEDIAN MIN PERCENTILE_CONT ROUND ROW_NUMBER STDDEV_SAMP SUM VAR_SAMP".split(" ");
  // Comments, texts, quoted names, numbers, words: what is not closed goes on to the end.
  const TOKENS = /(--[^\n]*|\/\*[^]*?(?:\*\/|$))|('(?:[^']|'')*(?:'|$))|("(?:[^"]|"")*(?:"|$))|(\b\d+(?:\.\d+)?)|([\p{L}_][\p{L}\p{N}_]*)/gu;
  const CLASSES = [, "comment", "literal", , "literal"];
  const LONGEST = 20000;
  const MOST = 7;

  const edit = (field) => {
    const painted = document.createElement("pre");
    painted.className = "painted";
    painted.setAttribute("aria-hidden", "true");
    const list = document.createElement("ul");
    Object.assign(list, { className: "choices", id: field.id + "-choices", role: "listbox", ariaLabel: "names", hidden: true });
    field.after(painted, list);
    field.setAttribute("aria-autocomplete", "list");
    field.setAttribute("aria-controls", list.id);

    // The same words in the same places, over a text that is not seen itself.
    const paint = () => {
      const text = field.value;
      const parts = [];
      let done = 0;
      if (text.length <= LONGEST) {
        for (const match of text.matchAll(TOKENS)) {
          const kind = match[5] ? KEYWORDS.has(match[5].toUpperCase()) && "keyword" : CLASSES[match.findIndex((group, place) => place > 0 && group)];
          if (!kind) continue;
          const span = document.createElement("span");
          span.className = kind;
          span.textContent = match[0];
          parts.push(text.slice(done, match.index), span);
          done = match.index + match[0].length;
        }
      }
      field.classList.toggle("under", text.length <= LONGEST);
      painted.hidden = text.length > LONGEST;
      painted.replaceChildren(...parts, text.slice(done) + "\n");
      follow();
    };
    const follow = () => {
      // As wide as the field without its bar for scrolling, and its two edges.
      painted.style.right = field.offsetWidth - field.clientWidth - 2 + "px";
      painted.scrollTop = field.scrollTop;
    };

    const insert = (from, to, text) => {
      field.focus();
      field.setSelectionRange(from, to);
      // So that it can be undone; where a browser has forgotten how, it is inserted all the same.
      if (document.execCommand("insertText", false, text)) return;
      field.setRangeText(text, from, to, "end");
      field.dispatchEvent(new Event("input", { bubbles: true }));
    };

    const names = [];
    document.querySelectorAll("[data-insert]").forEach((name) => {
      names.push(name.dataset.insert);
      const button = document.createElement("button");
      Object.assign(button, { type: "button", className: "insert", title: "Insert " + name.dataset.insert });
      name.replaceWith(button);
      button.append(name);
      button.addEventListener("click", () => {
        const [from, to] = [field.selectionStart, field.selectionEnd];
        const apart = /[\p{L}\p{N}_"]$/u.test(field.value.slice(0, from)) ? " " : "";
        insert(from, to, apart + name.dataset.insert);
      });
    });
    const known = [...new Set([...names, ...FUNCTIONS, ...KEYWORDS])];

    let chosen = -1;
    const close = () => {
      list.hidden = true;
      chosen = -1;
      field.removeAttribute("aria-activedescendant");
    };
    const begun = () => {
      const before = field.value.slice(0, field.selectionStart);
      const last = [...before.matchAll(TOKENS)].pop();
      const inWord = last?.[5] && last.index + last[0].length === before.length && !/[\p{L}\p{N}_]/u.test(field.value[before.length] ?? "");
      return field.selectionStart === field.selectionEnd && before.length <= LONGEST && inWord ? last[0] : "";
    };
    const take = (word) => {
      const end = field.selectionStart;
      insert(end - begun().length, end, word);
      close();
    };
    const offer = () => {
      close();
      const word = begun();
      const like = (name) => name.toLowerCase().startsWith(word.toLowerCase());
      const found = word.length < 2 || known.some((name) => name.toLowerCase() === word.toLowerCase()) ? [] : known.filter(like).slice(0, MOST);
      const small = word === word.toLowerCase();
      list.replaceChildren(...found.map((name, place) => {
        const item = document.createElement("li");
        item.textContent = small && !names.includes(name) ? name.toLowerCase() : name;
        Object.assign(item, { role: "option", id: list.id + place, ariaSelected: "false" });
        // The field keeps the focus.
        item.addEventListener("mousedown", (event) => { event.preventDefault(); take(item.textContent); });
        return item;
      }));
      if (!found.length) return;
      list.hidden = false;
      const [caret, box] = [caretOf(field.selectionStart), field.parentElement.getBoundingClientRect()];
      list.style.top = Math.min(caret.bottom - box.top, field.offsetHeight) + 4 + "px";
      list.style.left = Math.max(0, Math.min(caret.left - box.left, box.width - list.offsetWidth)) + "px";
    };
    const caretOf = (offset) => {
      const texts = document.createTreeWalker(painted, NodeFilter.SHOW_TEXT);
      const range = document.createRange();
      while (texts.nextNode()) {
        const text = texts.currentNode;
        if (offset <= text.length) {
          range.setStart(text, offset);
          break;
        }
        offset -= text.length;
      }
      return range.getBoundingClientRect();
    };
    const choose = (place) => {
      list.children[chosen]?.setAttribute("aria-selected", "false");
      chosen = (place + list.children.length) % list.children.length;
      list.children[chosen].setAttribute("aria-selected", "true");
      field.setAttribute("aria-activedescendant", list.children[chosen].id);
    };
    // Tab goes on as ever, and Enter begins a line unless a name was chosen: nobody is held in the editor.
    field.addEventListener("keydown", (event) => {
      if (list.hidden || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "ArrowDown") choose(chosen + 1);
      else if (event.key === "ArrowUp") choose(chosen < 0 ? -1 : chosen - 1);
      else if (event.key === "Enter" && chosen >= 0) take(list.children[chosen].textContent);
      else if (event.key === "Escape") close();
      else return;
      event.preventDefault();
    });
    field.addEventListener("input", () => { paint(); offer(); });
    field.addEventListener("blur", close);
    field.addEventListener("click", close);
    field.addEventListener("scroll", () => { follow(); close(); });
    new ResizeObserver(follow).observe(field);
    addEventListener("pageshow", paint);
    paint();
  };

  const enhance = (root) => {
    root.querySelectorAll("textarea[data-editor]").forEach(edit);
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
