// What htmx does not do for the page: news, keys, dragging, the sheet with one task, and what is announced.
"use strict";
(() => {
  const key = document.body.dataset.store;
  const tasks = document.getElementById("tasks");
  const filters = document.getElementById("filters");
  const sheet = document.getElementById("sheet");
  const live = document.getElementById("live");
  const sayings = document.getElementById("sayings");
  const limits = new Map();
  // What the user has opened and shut survives a reload.
  const kept = recall();
  const [opened, shut, folded] = [kept.opened, kept.shut, kept.folded].map((ids) => new Set(Array.isArray(ids) ? ids : []));
  let tab = kept.tab ?? "";

  function recall() {
    try {
      return JSON.parse(localStorage.getItem(`board ${location.pathname}`)) ?? {};
    } catch { // the browser keeps nothing for pages, or not what was kept
      return {};
    }
  }

  const LIVE = "X-Live";
  let opener = "", dragged = null, isPressed = false, isDue = false;
  // Moves that are under way, by task; those of them that are answered; and those that the asked page will show.
  const moving = new Map(), answered = new Set();
  let settling = [], waiting = [], retry = 0;

  // What others may have changed. Nothing is replaced under a pointer or a Space that is down: the click would be lost.

  function refresh() {
    if (dragged || isPressed) isDue = true;
    else htmx.trigger(tasks, "refresh");
  }

  function refreshAll() {
    refresh();
    if (isDue) return;
    htmx.trigger(document.body, "changed");
    const shown = sheet.querySelector("[data-refresh]");
    if (shown) load(shown.dataset.refresh, { [LIVE]: "yes" });
  }

  function catchUp() {
    if (!isDue) return;
    isDue = false;
    refreshAll();
  }

  function press({ target }) {
    isPressed = Boolean(target.closest?.("button, [draggable]"));
  }

  function release() {
    isPressed = false;
    setTimeout(catchUp); // after the click
  }

  addEventListener("pointerdown", press);
  addEventListener("keydown", (event) => event.key === " " && press(event));
  addEventListener("keyup", (event) => event.key === " " && release());
  for (const end of ["pointerup", "pointercancel", "contextmenu", "blur"]) addEventListener(end, release);

  // The tasks, as far as the user has opened them

  document.body.addEventListener("htmx:configRequest", ({ detail }) => {
    if (!detail.path.endsWith("/tasks")) return;
    for (const [part, limit] of limits) detail.formData.append("limit", `${part}=${limit}`);
    for (const id of opened) detail.formData.append("open", id);
    for (const id of shut) detail.formData.append("shut", id);
    settling = [...answered];
  });

  // A request for news may take the place of one for the filters; it brings what they find too.
  let isSearching = false;
  filters.addEventListener("input", () => {
    isSearching = true;
  });

  document.body.addEventListener("htmx:afterRequest", ({ detail }) => {
    if (detail.target !== tasks) return;
    const { formData } = detail.requestConfig;
    const isAnswered = [...new FormData(filters)].every(([name, value]) => formData.get(name) === value);
    if (isSearching && isAnswered && detail.successful && !isDue) {
      isSearching = false;
      live.textContent = tasks.querySelector("[data-found]")?.dataset.found ?? "";
    }
    if (isAnswered && detail.successful) {
      showAddress();
      const count = document.querySelector("nav [aria-current] .count");
      if (count) count.textContent = tasks.querySelector("[data-open]")?.dataset.open ?? "";
    }
    for (const id of isDue ? [] : settling) {
      moving.delete(id);
      answered.delete(id);
    }
    settling = [];
    sendWaiting();
    // The board may have missed a fault that was over before it looked, so it reports no end of it either.
    clearTimeout(retry);
    const isFaulty = tasks.querySelector(":scope > .notice.error");
    if (isFaulty && source?.readyState === EventSource.OPEN) retry = setTimeout(refresh, 1000);
  });

  // The address has the filters and the open task, so that both survive a reload and can be sent to somebody.
  function showAddress() {
    const given = new URLSearchParams([...new FormData(filters)].filter(([, value]) => value));
    const shown = sheet.open && sheet.querySelector("[data-task]")?.dataset.task;
    if (shown) given.set("task", shown);
    history.replaceState(null, "", given.size ? `?${given}` : location.pathname);
  }

  // What is the same stays, so that no button is gone before it is answered.
  let hadFocus = false, isHistoryOpen = false;
  const shownTexts = new Map();
  document.body.addEventListener("htmx:beforeSwap", ({ detail }) => {
    const { target, serverResponse: text, requestConfig: request } = detail;
    if ((dragged || isPressed) && (target === tasks || target.id === "news" || request.headers[LIVE])) {
      detail.shouldSwap = false;
      isDue = true;
    } else if (target === tasks) {
      hadFocus = tasks.contains(document.activeElement);
      detail.shouldSwap &&= text !== shownTexts.get(tasks);
    } else if (request.headers[LIVE]) {
      // Meanwhile the user may have closed the task, opened a form, or asked for something.
      const shown = sheet.open && sheet.querySelector("[data-refresh]")?.dataset.refresh;
      const isFree = shown === request.path && !sheet.querySelector(".htmx-request");
      detail.shouldSwap &&= isFree && text !== shownTexts.get(target);
    }
    if (detail.shouldSwap) shownTexts.set(target, text);
    isHistoryOpen = Boolean(request.headers[LIVE] && sheet.querySelector(".history[open]"));
  });

  document.body.addEventListener("htmx:afterSwap", ({ detail }) => {
    if (detail.target === tasks && hadFocus && document.activeElement === document.body) tasks.focus();
    // htmx says this too of answers that only announce something.
    if (detail.target.id === "sheet-body" && detail.xhr.getResponseHeader("HX-Reswap") !== "none") showSheet();
    if (isHistoryOpen) sheet.querySelector(".history")?.setAttribute("open", "");
    dress(detail.target);
  });

  // Times of this place, and what is folded

  const { lang } = document.documentElement;
  const moment = new Intl.DateTimeFormat(lang, { dateStyle: "medium", timeStyle: "short" });
  const ago = new Intl.RelativeTimeFormat(lang, { numeric: "auto", style: "short" });
  const UNITS = [["year", 31557600], ["month", 2629800], ["week", 604800], ["day", 86400], ["hour", 3600], ["minute", 60], ["second", 60]];

  function dress(part) {
    for (const time of part.querySelectorAll("time")) {
      const then = new Date(time.dateTime);
      if (Number.isNaN(then.getTime())) continue;
      const seconds = (then - Date.now()) / 1000;
      const [unit, length] = UNITS.find(([, span]) => Math.abs(seconds) >= span) ?? UNITS.at(-1);
      const isAge = time.matches(".age");
      time.textContent = isAge ? ago.format(Math.trunc(seconds / length), unit) : moment.format(then);
      if (isAge) time.title = moment.format(then);
    }
    if (part === tasks) dressColumns();
  }

  function dressColumns() {
    const columns = [...tasks.querySelectorAll(".column")];
    const now = columns.find((column) => column.dataset.status === tab) ?? columns.find((column) => column.querySelector(".card"));
    for (const column of columns) {
      const isFolded = folded.has(column.dataset.status);
      column.classList.toggle("folded", isFolded);
      column.classList.toggle("current", column === (now ?? columns[0]));
      column.querySelector(".fold").setAttribute("aria-expanded", String(!isFolded));
    }
    for (const button of tasks.querySelectorAll("[data-tab]")) {
      button.setAttribute("aria-pressed", String(button.dataset.tab === (now ?? columns[0])?.dataset.status));
    }
  }

  function keep() {
    const values = { opened: [...opened], shut: [...shut], folded: [...folded], tab };
    try {
      localStorage.setItem(`board ${location.pathname}`, JSON.stringify(values));
    } catch { // then a reload forgets it
    }
  }

  setInterval(() => dress(document), 60_000);

  // The sheet

  function showSheet() {
    const isNew = !sheet.open;
    if (isNew) {
      opener = document.activeElement?.id || opener;
      sheet.showModal();
    }
    const first = sheet.querySelector("[aria-invalid], [autofocus], h2[tabindex]");
    // A swap keeps the focus if what had it is still there.
    if (isNew || document.activeElement === document.body || document.activeElement === sheet) first?.focus();
    showAddress();
  }

  sheet.addEventListener("cancel", (event) => {
    const form = sheet.querySelector("#form");
    if (!form) return;
    const given = new FormData(form);
    const read = (name) => String(given.get(name) ?? "").replace(/\r\n?/g, "\n");
    const fields = [...given.keys()].filter((name) => name.startsWith("now."));
    const isFilled = fields.some((name) => read(name) !== read(name.replace("now.", "was.")));
    if (isFilled && !confirm(document.body.dataset.discard)) event.preventDefault();
  });

  sheet.addEventListener("close", () => {
    document.getElementById("sheet-body").replaceChildren();
    for (const saying of sheet.querySelectorAll(".saying")) saying.remove();
    (document.getElementById(opener) ?? tasks).focus();
    showAddress();
  });

  document.addEventListener("click", (event) => {
    const target = event.target.closest("[data-close], [data-use], [data-copy], [data-tab], [data-fold], #narrow, .more, button.toggle");
    if (!target) return;
    if ("close" in target.dataset) {
      const saying = target.closest(".saying");
      if (saying) saying.remove();
      else sheet.close();
    } else if ("use" in target.dataset) {
      const field = document.getElementById(target.dataset.use);
      field.value = target.dataset.text;
      field.focus();
    } else if ("copy" in target.dataset) {
      navigator.clipboard.writeText(target.dataset.copy).then(() => say("done", document.body.dataset.copied));
    } else if ("tab" in target.dataset) {
      tab = target.dataset.tab;
      keep();
      dressColumns();
    } else if ("fold" in target.dataset) {
      const { fold } = target.dataset;
      if (!folded.delete(fold)) folded.add(fold);
      keep();
      dressColumns();
    } else if (target.id === "narrow") {
      target.setAttribute("aria-expanded", String(filters.classList.toggle("wide-open")));
    } else if (target.matches(".more")) {
      limits.set(target.dataset.part, target.dataset.limit);
      refresh();
    } else {
      toggle(target);
    }
  });

  function toggle(button) {
    const { id } = button.closest(".node").dataset;
    const isOpen = button.getAttribute("aria-expanded") === "true";
    (isOpen ? shut : opened).add(id);
    (isOpen ? opened : shut).delete(id);
    keep();
    refresh();
  }

  // What answers announce

  // What the server itself says, at the end of the text, is English on every page. ``undo`` is the number of a change.
  function say(kind, text, english = "", undo = 0) {
    const saying = document.createElement("div");
    saying.className = `saying ${kind}`;
    saying.setAttribute("role", kind === "done" ? "status" : "alert");
    const words = document.createElement("p");
    words.textContent = text.slice(0, text.length - english.length);
    if (english) {
      const quote = document.createElement("span");
      quote.lang = "en";
      quote.textContent = english;
      words.append(quote);
    }
    const close = document.createElement("button");
    close.type = "button";
    close.dataset.close = "";
    close.textContent = "×";
    close.setAttribute("aria-label", document.body.dataset.label);
    const button = undo ? offerUndo(undo) : "";
    saying.append(words, button, close);
    const hadFocus = document.activeElement?.closest(".saying");
    for (const old of document.querySelectorAll(".saying")) {
      if (old.matches(".done") || old.querySelector("p").textContent === text) old.remove();
    }
    (sheet.open ? sheet : sayings).append(saying);
    if (hadFocus) (button || close).focus();
    if (kind !== "done") return;
    live.textContent = text;
    const end = () => (saying.matches(":hover, :focus-within") ? setTimeout(end, 6000) : saying.remove());
    setTimeout(end, undo ? 20_000 : 6000);
  }

  function offerUndo(number) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "undo";
    button.textContent = document.body.dataset.undo;
    const request = { source: live, target: document.body, swap: "none", values: { number } };
    const undo = () => {
      sending = sending.then(() => htmx.ajax("POST", `${key}/undo`, request)).catch(() => {}).then(refresh);
    };
    button.addEventListener("click", undo, { once: true });
    return button;
  }

  document.body.addEventListener("closed", ({ target }) => {
    if (target === live) return; // a move: it refreshes by itself, and meanwhile the user may be writing
    if (sheet.contains(target)) sheet.close();
    refresh();
  });
  document.body.addEventListener("said", ({ target, detail }) => {
    if (target === live && detail.kind === "error") waiting = []; // they were meant for where it would have been
    say(detail.kind, detail.text, detail.english, detail.undo);
  });
  document.body.addEventListener("refresh", (event) => {
    if (event.target !== tasks && event.target !== live) refresh();
  });
  document.body.addEventListener("opened", ({ detail }) => sheet.open || load(detail.url));
  document.body.addEventListener("htmx:sendError", () => say("error", document.body.dataset.offline));
  document.body.addEventListener("htmx:responseError", ({ detail: { xhr } }) => {
    say("error", xhr.responseText, xhr.status === 403 ? "" : xhr.responseText);
  });

  function load(url, headers = {}, source = document.body) {
    htmx.ajax("GET", url, { source, target: "#sheet-body", headers });
  }

  // Moves

  // One after the other: of those that wait for one element, htmx keeps only the last.
  let sending = Promise.resolve();

  // While a move of a task is under way, its place on the page may not be true: the next one waits until it is. A key
  // that is pressed again before its move is shown means the same move.
  function send(id, values) {
    const last = waiting.findLast(([other]) => other === id)?.[1] ?? moving.get(id);
    if (JSON.stringify(last) !== JSON.stringify(values)) waiting.push([id, values]);
    sendWaiting();
  }

  function sendWaiting() {
    for (const [id, values] of waiting.splice(0)) {
      const item = tasks.querySelector(`[data-id="${CSS.escape(id)}"]`);
      if (moving.has(id)) waiting.push([id, values]);
      else if (item) sendNow(id, values, item.dataset);
    }
  }

  function sendNow(id, values, { status, parent }) {
    moving.set(id, values);
    const was = "status" in values ? { was_status: status } : { was_parent: parent };
    const request = { source: live, target: document.body, swap: "none", values: { id, ...values, ...was } };
    sending = sending.then(() => htmx.ajax("POST", `${key}/act`, request)).catch(() => {}).then(() => {
      answered.add(id);
      refresh();
    });
  }

  function allows(column, { dataset: { id, status } }) {
    const last = waiting.findLast(([other]) => other === id)?.[1] ?? moving.get(id);
    const now = last?.status ?? status;
    return column.dataset.status === now || JSON.parse(column.dataset.sources).includes(now);
  }

  function move(card, status) {
    const { id } = card.dataset;
    if (status !== card.dataset.status) send(id, { status });
  }

  function place(node, parent, beside = {}) {
    const { id } = node.dataset;
    const action = parent ? "place_below" : "place_on_top";
    if (id !== parent && id !== beside.before) send(id, { action, parent, ...beside });
  }

  document.addEventListener("dragstart", (event) => {
    dragged = event.target.closest?.("[draggable]");
    event.dataTransfer?.setData("text/plain", dragged?.closest("[data-id]")?.dataset.id ?? "");
    if (dragged) document.body.classList.add("dragging");
  });

  document.addEventListener("dragend", endDrag);

  function endDrag() {
    dragged = null;
    document.body.classList.remove("dragging");
    mark(null);
    release();
  }

  function mark(spot, kind = "over") {
    for (const other of document.querySelectorAll(".over, .before")) other.classList.remove("over", "before");
    spot?.classList.add(kind);
  }

  function findSpot(event) {
    const spot = event.target.closest?.(".column, .row, .drop-top");
    if (!dragged || !spot || dragged.closest(".node")?.contains(spot)) return null;
    if (spot.matches(".column") && !allows(spot, dragged)) return null;
    const box = spot.getBoundingClientRect();
    const isUpper = event.clientY - box.top < box.height / 3;
    const isBefore = spot.matches(".row") && isUpper && Boolean(document.querySelector(".tree[data-index='yes']"));
    return { spot, isBefore };
  }

  document.addEventListener("dragover", (event) => {
    const found = findSpot(event);
    if (!found) return mark(null);
    event.preventDefault();
    mark(found.spot, found.isBefore ? "before" : "over");
  });

  document.addEventListener("drop", (event) => {
    const found = findSpot(event);
    if (!found) return;
    event.preventDefault();
    const from = dragged.closest("[data-id]");
    const to = found.spot.closest("[data-id]");
    if (found.spot.matches(".column")) move(from, found.spot.dataset.status);
    else if (!to) place(from, "");
    else if (found.isBefore) place(from, to.dataset.parent, { before: to.dataset.id });
    else place(from, to.dataset.id);
    endDrag();
  });

  // Keys

  function focusOn(card) {
    card?.querySelector(".open")?.focus();
  }

  function steerColumns(card, step, isShifted) {
    const columns = [...tasks.querySelectorAll(".column")];
    const column = card.closest(".column");
    const cards = [...column.querySelectorAll(".card")];
    const place = cards.indexOf(card);
    if (step.y) return focusOn(cards[place + step.y]);
    let next = columns.indexOf(column) + step.x;
    if (isShifted) {
      while (columns[next] && !allows(columns[next], card)) next += step.x;
      if (columns[next]) move(card, columns[next].dataset.status);
      return undefined;
    }
    while (columns[next] && !columns[next].querySelector(".card")) next += step.x;
    const others = columns[next]?.querySelectorAll(".card") ?? [];
    return focusOn(others[Math.min(place, others.length - 1)]);
  }

  function steerTree(row, step, isShifted) {
    const node = row.closest(".node");
    const above = node.parentElement.closest(".node");
    if (isShifted) return shift(node, above, step);
    const rows = [...tasks.querySelectorAll(".row")];
    const button = row.querySelector("button.toggle");
    const isOpen = button?.getAttribute("aria-expanded") === "true";
    if (step.y) return focusOn(rows[rows.indexOf(row) + step.y]);
    if (button && isOpen === step.x < 0) return toggle(button);
    return focusOn(step.x < 0 ? above?.querySelector(".row") : isOpen ? rows[rows.indexOf(row) + 1] : null);
  }

  function shift(node, above, step) {
    const siblings = [...node.parentElement.children].filter((other) => other.matches(".node"));
    const index = siblings.indexOf(node);
    const { parent } = node.dataset;
    const previous = siblings[index - 1]?.dataset.id;
    const next = siblings[index + 1]?.dataset.id;
    if (step.y < 0 && previous) return place(node, parent, { before: previous });
    if (step.y > 0 && next) return place(node, parent, { after: next });
    if (step.x > 0 && previous) return place(node, previous);
    if (step.x < 0 && above) {
      const hasOrder = document.querySelector(".tree[data-index='yes']");
      return place(node, above.dataset.parent, hasOrder ? { after: above.dataset.id } : {});
    }
    return undefined;
  }

  const STEPS = { ArrowUp: { x: 0, y: -1 }, ArrowDown: { x: 0, y: 1 }, ArrowLeft: { x: -1, y: 0 }, ArrowRight: { x: 1, y: 0 } };

  tasks.addEventListener("keydown", (event) => {
    const step = STEPS[event.key];
    const card = event.target.closest(".card, .row");
    if (!step || !card || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    (card.matches(".card") ? steerColumns : steerTree)(card, step, event.shiftKey);
  });

  // Single keys, where nobody writes
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, textarea, select")) return;
    const item = event.target.closest("[data-id]");
    // Details that have just come do not take clicks yet, and those that are still to come would take the form's place.
    const shown = sheet.open && sheet.querySelector("[data-action='edit']")?.getAttribute("hx-get");
    const form = item && `${key}/form?${new URLSearchParams({ action: "edit", id: item.dataset.id })}`;
    if (event.key === "e" && (shown || form)) load(shown || form, {}, item?.querySelector(".open"));
    else if (event.key === "u") [...(sheet.open ? sheet : sayings).querySelectorAll(".undo")].at(-1)?.click();
    else if (event.key === "n" && !sheet.open) document.getElementById("new").click();
    else if (event.key === "/" && !sheet.open) document.getElementById("q").focus();
    else if (event.key === "?" && !sheet.open) showKeys();
    else return;
    event.preventDefault();
  });

  function showKeys() {
    const keys = document.querySelector(".keys");
    keys.open = !keys.open;
    keys.querySelector("summary").focus();
  }

  // News; a page that nobody sees needs none, and browsers open only a few connections to one server

  let source = null, wasLost = false;

  function listen() {
    source = new EventSource("../events");
    source.addEventListener("changed", ({ data }) => {
      if (data === key) refreshAll();
    });
    source.addEventListener("error", ({ target }) => {
      const { offline, link } = document.body.dataset;
      // Another run of the board knows no old page, and the browser does not ask it again.
      if (target.readyState === EventSource.CLOSED) say("error", link);
      else if (!wasLost) say("error", offline);
      wasLost = true;
    });
    source.addEventListener("open", () => {
      if (wasLost) {
        for (const saying of document.querySelectorAll(".saying.error")) saying.remove();
        say("done", document.body.dataset.online);
        refreshAll();
      }
      wasLost = false;
    });
  }

  document.addEventListener("visibilitychange", () => {
    source?.close();
    source = null;
    if (!document.hidden) {
      listen();
      refreshAll();
    }
  });
  listen();
  dress(document);
  dressColumns();
  document.addEventListener("DOMContentLoaded", () => { // htmx listens only then
    if (opened.size || shut.size) refresh();
    const asked = new URLSearchParams(location.search).get("task");
    if (asked) load(`${key}/task?${new URLSearchParams({ id: asked })}`);
  });
})();
