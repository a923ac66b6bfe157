// Elements without markup in strings: texts are always texts.

export const byId = (id) => document.getElementById(id);

/** Makes an element. Properties are attributes; `class`, `text` and `on...` mean what they say; `null` and `false` leave out. */
export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "text") made.textContent = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export const replace = (parent, ...children) => parent.replaceChildren(...children.filter((child) => child !== null && child !== undefined));

/** Calls `act` once `delay` milliseconds have passed without another call. */
export function debounced(delay, act) {
  let timer = 0;
  const later = (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...values), delay);
  };
  later.stop = () => clearTimeout(timer);
  return later;
}

/** Lets arrow keys move among the buttons in an element, of which one is in the tab order. */
export function roving(parent) {
  parent.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    const buttons = [...parent.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement);
    const next = buttons[at + step];
    if (at < 0 || !next) return;
    event.preventDefault();
    buttons[at].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
}

/** Puts one button in the tab order. */
export function rove(buttons, index = 0) {
  buttons.forEach((button, at) => { button.tabIndex = at === index ? 0 : -1; });
}
