// The reader: it runs in a world of its own in every document of a page, before any script of the page, and tells the
// driver what a person would see. It is a function of the page's configuration (see reader.go).
(config) => {
  if (window !== window.top) return;

  const maxText = 64 << 10, maxOptions = 200, maxRows = 500;
  const quick = 100, slow = 5; // ms between looks at properties; every slow-th of them looks at everything
  const moment = 10; // ms after which it is looked whether an event has changed something without changing the document

  const fold = (s) => s.replace(/\s+/g, ' ').trim();
  const clip = (s, n = maxText) => (s.length <= n ? s : s.slice(0, n) + '…');
  const tidy = (s) => clip(fold(String(s ?? '')), 4096);

  // ---- finding

  // listen notes in a window, the page's or a frame's, what the mouse reaches (see aimed).
  const listen = (view) => {
    view.addEventListener('mousedown', (ev) => { if (aimed && reaches(ev)) aimed.down = ev.composedPath()[0]; }, true);
    view.addEventListener('click', (ev) => { if (aimed && reaches(ev)) aimed.hit = true; }, true);
  };

  const roots = new Set();
  const watch = (root) => {
    if (roots.has(root)) return;
    roots.add(root);
    observer.observe(root, { attributes: true, characterData: true, childList: true, subtree: true });
    for (const type of events) root.addEventListener(type, touched, { capture: true, passive: true });
    if (root.defaultView) listen(root.defaultView);
  };

  // frameOf returns the document in an <iframe>; null if it is of another origin.
  const frameOf = (e) => {
    try {
      return e.localName === 'iframe' ? e.contentDocument : null;
    } catch {
      return null;
    }
  };

  // everyRoot lists the document, and the open shadow roots and the frames of its origin in it.
  const everyRoot = () => {
    const out = [document];
    for (let i = 0; i < out.length; i++) {
      const walk = document.createTreeWalker(out[i], NodeFilter.SHOW_ELEMENT);
      for (let n = walk.nextNode(); n; n = walk.nextNode()) {
        const inner = n.shadowRoot ?? frameOf(n);
        if (inner) out.push(inner);
      }
    }
    for (const root of roots) if (root.nodeType === Node.DOCUMENT_NODE && !root.defaultView) roots.delete(root); // a frame that has gone
    return out;
  };

  // holder returns the <iframe> that an element is in; null in the page itself.
  const holder = (e) => e.ownerDocument === document ? null : e.ownerDocument.defaultView?.frameElement ?? null;

  // placed moves a rectangle of an element's frame to where it is on the page.
  const placed = (e, r) => {
    let x = 0, y = 0;
    for (let f = holder(e); f; f = holder(f)) {
      const at = f.getBoundingClientRect();
      x += at.left + f.clientLeft;
      y += at.top + f.clientTop;
    }
    return x || y ? new DOMRect(r.x + x, r.y + y, r.width, r.height) : r;
  };
  const rectOf = (e) => placed(e, e.getBoundingClientRect());

  const select = (css, known) => {
    const out = [];
    for (const root of known) out.push(...root.querySelectorAll(css));
    return out;
  };

  const labelled = 'button,a,input,select,textarea,summary,label,option,[role],[onclick],[tabindex]';

  // every lists what a hook names, best first.
  const every = (hook, known = everyRoot()) => {
    if (!hook) return [];
    if (!hook.startsWith('text=')) {
      try {
        return select(hook, known);
      } catch {
        return [];
      }
    }
    const want = fold(hook.slice(5));
    const words = (e) => {
      const button = e.localName === 'input' && ['button', 'submit', 'reset'].includes(e.type);
      return [button ? e.value : textOf(e), e.getAttribute('aria-label'), e.title, e.placeholder].map((s) => fold(String(s ?? '')));
    };
    const all = select(labelled, known).map((e) => [e, words(e)]);
    const innermost = (list) => list.filter((e) => !list.some((o) => o !== e && e.contains(o)));
    const exact = all.filter(([, w]) => w.includes(want)).map(([e]) => e);
    const part = all.filter(([, w]) => want && w.some((s) => s.includes(want))).map(([e]) => e);
    const found = exact.length ? innermost(exact) : innermost(part);
    return found.sort((a, b) => visible(b) - visible(a));
  };

  const one = (hook, known) => {
    const all = every(hook, known);
    return all.find(visible) ?? all[0] ?? null;
  };

  // ---- seeing

  const visible = (e) => {
    if (!e || !e.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true })) return false;
    const r = e.getBoundingClientRect(), frame = holder(e);
    return r.width > 0 && r.height > 0 && (!frame || visible(frame));
  };

  const skipped = new Set(['SCRIPT', 'STYLE', 'TEMPLATE', 'NOSCRIPT', 'HEAD', 'OBJECT', 'DATALIST', 'AUDIO', 'VIDEO']);

  // drawing is how an element is drawn: gone with all that is in it, or in lines of its own (gap), and whether it is seen
  // (undefined: as what it is in).
  const drawing = (e) => {
    if (!drawings) return examine(e);
    let how = drawings.get(e);
    if (!how) drawings.set(e, how = examine(e));
    return how;
  };
  let drawings = null; // those of the elements that a look has come across, as it comes across them more than once

  const examine = (e) => {
    const style = getComputedStyle(e);
    const display = style.display;
    if (display === 'none' || style.opacity === '0' || style.contentVisibility === 'hidden') return { gone: true };
    if (display === 'contents') return {};
    const r = e.getBoundingClientRect();
    if ((r.width <= 1 || r.height <= 1) && style.overflow !== 'visible' && e !== e.ownerDocument.body) return { gone: true }; // clipped away
    return { gap: display !== 'inline' || e.nodeName === 'BR', seen: style.visibility === 'visible' && (r.width > 0 && r.height > 0 || display.startsWith('inline')) };
  };

  // write adds what can be seen in a node to out, which has a bound. without holds nodes to leave out; 'tips' in it asks for
  // titles too.
  const write = (node, out, shown, without) => {
    if (out.size > maxText) return;
    if (node.nodeType === Node.TEXT_NODE) {
      if (shown && node.data) {
        out.push(node.data);
        out.size += node.data.length;
      }
      return;
    }
    if (node.nodeType !== Node.ELEMENT_NODE || skipped.has(node.nodeName) || without.has(node)) return;
    const { gone, gap, seen } = drawing(node);
    if (gone) return;
    shown = seen ?? shown;
    if (gap) out.push(' ');
    const say = (s) => {
      if (s) {
        s = clip(String(s), 4096);
        out.push(' ', s, ' ');
        out.size += s.length;
      }
    };
    if (shown && without.has('tips')) say(node.title);
    switch (node.localName) {
      case 'input':
        if (shown && !['hidden', 'password', 'checkbox', 'radio', 'file', 'range', 'color', 'image'].includes(node.type)) say(node.value || node.placeholder);
        break;
      case 'textarea':
        if (shown) say(node.value || node.placeholder);
        break;
      case 'select':
        if (shown && !without.has('options of ' + id(node))) for (const o of node.selectedOptions) say(o.label || o.text);
        break;
      case 'slot': {
        const given = node.assignedNodes({ flatten: true });
        for (const n of given.length ? given : node.childNodes) write(n, out, shown, without);
        break;
      }
      case 'iframe': {
        const body = shown && frameOf(node)?.body;
        if (body) write(body, out, shown, without);
        break;
      }
      case 'details':
        for (const n of node.childNodes) if (node.open || n.localName === 'summary') write(n, out, shown, without);
        break;
      default:
        for (const n of (node.shadowRoot ?? node).childNodes) write(n, out, shown, without);
    }
    if (gap) out.push(' ');
  };

  let ids = new WeakMap(), next = 0;
  const id = (e) => ids.get(e) ?? (ids.set(e, ++next), next);
  const nothing = new Set();

  const textOf = (node, without = nothing, n = maxText) => {
    const out = [];
    out.size = 0;
    const parent = node.nodeType === Node.TEXT_NODE ? node.parentElement : null;
    write(node, out, parent ? visible(parent) : true, without);
    return clip(fold(out.join('')), n);
  };

  const disabled = (e) => e.matches(':disabled') || e.getAttribute('aria-disabled') === 'true';
  const px = (x) => Math.round(x * 10) / 10;

  const control = (e) => {
    if (!e) return { found: false, visible: false, disabled: false, tag: '', id: '', text: '', value: '', title: '', rect: { left: 0, top: 0, width: 0, height: 0 } };
    const r = rectOf(e);
    const seen = visible(e);
    let text = '';
    if (e.localName === 'select') text = tidy([...e.selectedOptions].map((o) => o.label || o.text).join(' '));
    else if (e.localName !== 'input' && e.localName !== 'textarea') text = seen ? textOf(e, nothing, 4096) : '';
    return {
      found: true, visible: seen, disabled: disabled(e), tag: e.localName, id: e.id, text,
      value: typeof e.value === 'string' ? clip(e.value, 16 << 10) : '', title: tidy(e.title),
      rect: { left: px(r.left), top: px(r.top), width: px(r.width), height: px(r.height) },
    };
  };

  const readSelect = (e) => {
    const out = { ...control(e), busy: false, classes: [], cursor: '', options: [], index: -1, multiple: false };
    if (!e) return out;
    const classes = new Set();
    for (let p = e, i = 0; p && p !== p.ownerDocument.body && p !== p.ownerDocument.documentElement && i < 4; p = p.parentElement ?? p.getRootNode().host, i++) {
      for (const c of p.classList) classes.add(c);
      if (p.getAttribute('aria-busy') === 'true') out.busy = true;
    }
    out.classes = [...classes].sort();
    out.cursor = getComputedStyle(e).cursor;
    if (e.localName === 'select') {
      out.options = [...e.options].slice(0, maxOptions).map((o) => ({
        value: clip(o.value, 4096), text: tidy(o.label || o.text),
        disabled: o.disabled || (o.parentElement?.localName === 'optgroup' && o.parentElement.disabled), selected: o.selected,
      }));
      out.index = e.selectedIndex;
      out.multiple = e.multiple;
    }
    return out;
  };

  const known = new Set(['trace', 'debug', 'info', 'notice', 'success', 'warn', 'warning', 'error', 'danger', 'fatal', 'critical', ...Object.keys(config.levels)]);

  const levels = (row) => {
    const tokens = (e, out) => {
      for (const t of (e.getAttribute('class') ?? '').toLowerCase().split(/[\s_-]+/)) if (t) out.add(t);
      const level = e.getAttribute('data-level');
      if (level) out.add(level.trim().toLowerCase());
      return out;
    };
    const out = tokens(row, new Set());
    if (!row.hasAttribute('data-level') && ![...out].some((t) => known.has(t))) {
      for (const e of [...row.querySelectorAll('*')].slice(0, 200)) tokens(e, out);
    }
    for (const [level, css] of Object.entries(config.levels)) {
      try {
        if (row.matches(css) || row.querySelector(css)) out.add(level);
      } catch { /* no selector */ }
    }
    return [...out].sort().slice(0, 100);
  };

  const readLog = (panel) => {
    if (!panel) return { rows: [], cut: 0 };
    let rows;
    try {
      rows = config.logRow ? [...panel.querySelectorAll(config.logRow)] : panel.localName === 'table' ? [...panel.rows] : [...(panel.shadowRoot ?? panel).children];
    } catch {
      rows = [];
    }
    const open = visible(panel);
    rows = rows.filter((r) => !skipped.has(r.nodeName) && (!open || r.checkVisibility()));
    const keep = [];
    let size = 0;
    for (let i = rows.length - 1; i >= 0 && keep.length < maxRows && size < maxText; i--) {
      const text = open ? textOf(rows[i], nothing, 8192) : clip(fold(rows[i].textContent), 8192); // a panel that is folded in can be opened
      size += text.length;
      keep.push({ text, levels: levels(rows[i]) });
    }
    return { rows: keep.reverse(), cut: rows.length - keep.length };
  };

  const readChat = (box) => {
    if (!box) return [];
    const out = [];
    let size = 0;
    const children = [...(box.shadowRoot ?? box).childNodes];
    for (let i = children.length - 1; i >= 0 && out.length < maxRows && size < maxText; i--) {
      const text = textOf(children[i], nothing, 16 << 10);
      if (!text) continue;
      size += text.length;
      out.push(text);
    }
    return out.reverse();
  };

  const between = (a, b, rootsNow) => {
    if (!a || !b || !visible(a) || !visible(b)) return -1;
    let l = rectOf(a), r = rectOf(b);
    const overlap = (p, q) => Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 0;
    if (!overlap(l, r)) return -1;
    if (l.left > r.left) [l, r] = [r, l];
    let n = 0;
    for (const e of select('button,a,input,select,textarea,[role=button],[role=link]', rootsNow)) {
      if (e === a || e === b || e.contains(a) || e.contains(b) || a.contains(e) || b.contains(e)) continue;
      const box = rectOf(e), x = box.left + box.width / 2;
      if (x > l.left + l.width / 2 && x < r.left + r.width / 2 && overlap(box, l) && overlap(box, r) && visible(e)) n++;
    }
    return n;
  };

  const modal = (rootsNow) => {
    const open = select('dialog:modal, [aria-modal="true"]', rootsNow).filter(visible);
    return open.length ? textOf(open[open.length - 1], nothing, 16 << 10) : '';
  };

  const loading = (rootsNow) => {
    if (!config.loading) return false;
    try {
      return select(config.loading, rootsNow).some(visible);
    } catch {
      return false;
    }
  };

  const look = () => {
    drawings = new Map();
    try {
      return read();
    } finally {
      drawings = null;
    }
  };

  const read = () => {
    const now = everyRoot();
    now.forEach(watch);
    const box = one(config.select, now), panel = one(config.log, now);
    const without = new Set(['tips']);
    if (panel) without.add(panel);
    if (box) without.add('options of ' + id(box));
    const controls = {};
    let fresh = null;
    for (const name of Object.keys(config.controls).sort()) {
      const e = one(config.controls[name], now);
      if (name === 'new-session') fresh = e;
      controls[name] = control(e);
    }
    const log = readLog(panel);
    return JSON.stringify({
      url: clip(location.href, 8192), text: document.body ? textOf(document.body, without) : '', select: readSelect(box), controls,
      chat: readChat(one(config.chat, now)), log: log.rows, loading: loading(now), between: between(box, fresh, now), modal: modal(now), cut: log.cut,
    });
  };

  // ---- telling

  let last = '', pending = false, loaded = false, fresh = false; // fresh: something has happened since the last look

  const push = () => {
    fresh = false;
    const s = look();
    if (s === last) return;
    last = s;
    globalThis[config.tell]('L' + s);
  };

  const turn = () => new Promise((done) => {
    const c = new MessageChannel();
    c.port1.onmessage = () => {
      c.port1.close();
      done();
    };
    c.port2.postMessage(0);
  });

  const soon = new MessageChannel(); // its messages are tasks: a task of the page is over when they come
  soon.port1.onmessage = () => {
    pending = false;
    if (loaded) push();
  };
  const dirty = () => {
    fresh = true;
    if (pending) return;
    pending = true;
    soon.port2.postMessage(0);
  };
  const touched = () => {
    if (fresh) return;
    fresh = true;
    setTimeout(() => { if (loaded && fresh) push(); }, moment);
  };

  const observer = new MutationObserver(dirty);
  const events = ['input', 'change', 'click', 'focusin', 'focusout', 'toggle', 'scroll', 'transitionend', 'animationstart', 'animationend', 'load'];
  watch(document);
  window.addEventListener('resize', dirty);

  // Properties change without a trace: what decides is looked at often, the rest now and then.
  let ticks = 0, print = '';
  const hooks = [config.select, ...Object.values(config.controls)];
  const properties = () => {
    const now = hooks.length > 0 && roots.size === 1 ? [document] : [...roots];
    let p = '';
    for (const hook of hooks) {
      if (!hook || hook.startsWith('text=')) continue;
      try {
        for (const root of now) {
          const e = root.querySelector(hook);
          if (e) p += e.value + '\u0000' + e.selectedIndex + '\u0000' + e.disabled + '\u0000' + (e.options?.length ?? '') + '\u0001';
        }
      } catch { /* no selector */ }
    }
    const same = p === print;
    print = p;
    return same;
  };
  setInterval(() => {
    if (loaded && (!properties() || ++ticks % slow === 0)) push();
  }, quick);

  const begin = () => {
    if (loaded) return;
    loaded = true;
    fresh = false;
    last = look();
    globalThis[config.tell]((location.protocol === 'chrome-error:' ? 'E' : 'O') + last);
  };
  window.addEventListener('load', () => turn().then(begin));

  // ---- acting

  const can = (e, what) => {
    if (!e) return `there is no ${what} on the page`;
    if (!visible(e)) return `the ${what} is not visible`;
    if (disabled(e)) return `the ${what} is disabled`;
    return '';
  };

  const pick = (hook, text) => {
    if (!text) return one(hook);
    const has = (s) => fold(String(s ?? '')).includes(fold(text));
    const own = (e) => has(textOf(e)) || has(e.value) || [...e.attributes].some((a) => has(a.value));
    const within = (e) => [...e.querySelectorAll('*')].some((d) => [...d.attributes].some((a) => has(a.value)));
    const all = every(hook);
    const fits = all.filter(own);
    const list = fits.length ? fits : all.filter(within);
    return list.find(visible) ?? list[0] ?? null;
  };

  const deepest = (x, y) => {
    let e = document.elementFromPoint(x, y);
    for (;;) {
      const root = e?.shadowRoot ?? (e && frameOf(e));
      const at = root && !e.shadowRoot ? placed(root.documentElement, new DOMRect()) : { x: 0, y: 0 };
      const inner = root?.elementFromPoint(x - at.x, y - at.y);
      if (!inner || inner === e) return e;
      e = inner;
    }
  };
  const inside = (e, n) => {
    for (; n; n = n.assignedSlot ?? n.parentNode ?? n.host) if (n === e) return true;
    return false;
  };

  let held = null; // what the act is about
  let aimed = null; // at what the mouse is aimed: its hook, what was pressed, and whether a click has reached it
  const reaches = (ev) => ev.composedPath().includes(held) || ev.composedPath().includes(pick(aimed.hook, aimed.text));

  const spot = (e) => {
    const r = rectOf(e);
    if (r.top < 0 || r.left < 0 || r.bottom > innerHeight || r.right > innerWidth) e.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
    let at = null;
    for (const rect of [e.getBoundingClientRect(), ...e.getClientRects()]) {
      const box = placed(e, rect);
      const x = Math.min(Math.max(box.left + box.width / 2, 0), innerWidth - 1), y = Math.min(Math.max(box.top + box.height / 2, 0), innerHeight - 1);
      at ??= { x, y, covered: true };
      const hit = deepest(x, y);
      if (hit && (inside(e, hit) || hit.localName === 'label' && hit.control === e)) return { x, y, covered: false };
    }
    return at;
  };

  // frame waits until the page has drawn once: what it has begun to show may move what is aimed at.
  const frame = () => new Promise((done) => {
    const late = setTimeout(done, 50); // it is not drawn
    requestAnimationFrame(() => {
      clearTimeout(late);
      done();
    });
  });

  const aim = async (hook, text, what) => {
    await frame();
    const e = pick(hook, text), why = can(e, what);
    if (why) return { why };
    held = e;
    aimed = { hook, text };
    if (e.localName === 'select' || e.localName === 'option') return { x: 0, y: 0, covered: true }; // a mouse would open a list outside of the page
    const at = spot(e);
    if (at.covered && config.dismiss) {
      const way = one(config.dismiss);
      if (way && way !== e && visible(way) && !disabled(way)) at.dismiss = spot(way);
    }
    return at;
  };

  const press = () => {
    held?.focus?.({ preventScroll: true });
    held?.click();
    held = null;
    return {};
  };

  // torn tells that the page has taken away what was pressed before the mouse was released: no click has reached anything.
  const torn = () => {
    const a = aimed;
    aimed = null;
    return !!a?.down && !a.hit && !a.down.isConnected;
  };

  const choose = (hook, value, what) => {
    const e = one(hook), why = can(e, what);
    if (why) return { why };
    if (e.localName !== 'select') return { why: `the ${what} is no <select> but a <${e.localName}>` };
    const all = [...e.options];
    const o = all.find((o) => o.value === value) ?? all.find((o) => fold(o.label || o.text) === fold(value));
    if (!o) return { why: `there is no option ${JSON.stringify(value)} in the ${what}` };
    if (o.disabled || (o.parentElement?.localName === 'optgroup' && o.parentElement.disabled)) return { why: `the option ${JSON.stringify(value)} of the ${what} is disabled` };
    e.focus({ preventScroll: true });
    if (o.selected && !e.multiple) return {}; // choosing what is chosen changes nothing
    if (e.multiple) for (const other of all) other.selected = other === o;
    else e.selectedIndex = o.index;
    e.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
    e.dispatchEvent(new Event('change', { bubbles: true }));
    return {};
  };

  const focus = (hook, what, all) => {
    const e = one(hook), why = can(e, what);
    if (why) return { why };
    if (all && !e.isContentEditable && !(e.localName === 'textarea' || e.localName === 'input')) return { why: `nothing can be typed into the ${what}, a <${e.localName}>` };
    if (all && e.readOnly) return { why: `the ${what} can only be read` };
    e.scrollIntoView({ block: 'nearest', inline: 'nearest', behavior: 'instant' });
    e.focus({ preventScroll: true });
    if (!all) return {};
    typed = e.ownerDocument;
    if (e.isContentEditable) typed.getSelection().selectAllChildren(e);
    else e.select();
    return {};
  };

  let typed = document; // that of the field that has the focus
  const erase = () => {
    typed.execCommand('delete');
    return {};
  };

  const settle = async () => {
    for (let i = 0; i < 3; i++) {
      await turn();
      await new Promise((done) => setTimeout(done, 0));
    }
    if (loaded && (!properties() || fresh)) push();
  };

  const dom = () => {
    if (!document.body) return '';
    const copy = document.body.cloneNode(true);
    for (const e of copy.querySelectorAll('script,style,link,noscript,template')) e.remove();
    return clip(copy.outerHTML, 256 << 10);
  };

  globalThis[config.name] = { look, turn, settle, aim, press, torn, choose, focus, erase, dom };
}
