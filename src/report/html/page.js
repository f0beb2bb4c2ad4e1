// SPDX-License-Identifier: Apache-2.0
// What a reader does with a page: figures at the pointer and by keyboard, zoom, filters, groups
// that fold. Without it a page shows all that it says; this only adds. The page gives it
//
//   <g class="i" data-s="3 7" data-k="ring 1"><title>   whatever has figures; servers and kind
//   <figure data-tools="zoom|fabric|timeline|market">   what is offered above a picture
//   <table data-tools="sort">                           whose rows may be sorted
//   <script type="application/json">                    the tasks of the timeline (svg/tasks.c)
"use strict";
(function () {
  const SVG = "http://www.w3.org/2000/svg";
  const LANES_MAX = 32; // and servers of a fabric: beyond, neighbors begin in groups
  const NODES_MAX = 64;
  const GROUPS = 16;

  function make(tag, attributes, text) {
    const drawn = /^(svg|g|path|circle|text|rect|title)$/.test(tag);
    const element = drawn ? document.createElementNS(SVG, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      element.setAttribute(name, value);
    }
    if (text !== undefined) {
      element.textContent = text;
    }
    return element;
  }

  // ---- figures: one box for all of them ----

  const tip = make("div", {id: "tip", role: "status"});
  tip.hidden = true;
  document.body.append(tip);
  let marked = null;

  function tell(text, x, y) {
    tip.textContent = text;
    tip.hidden = !text;
    const box = tip.getBoundingClientRect();
    const below = y + 18 + box.height < innerHeight;
    tip.style.left = Math.max(4, Math.min(x + 12, innerWidth - box.width - 6)) + "px";
    tip.style.top = (below ? y + 18 : Math.max(4, y - box.height - 10)) + "px";
  }

  function mark(item, x, y) {
    if (marked) {
      marked.classList.remove("on");
    }
    marked = item;
    if (!item) {
      tell("");
      return;
    }
    item.classList.add("on");
    const box = item.getBoundingClientRect();
    tell(item.dataset.tip, x === undefined ? box.x + box.width / 2 : x,
      y === undefined ? box.y + box.height / 2 : y);
  }

  // A line is thin: what is near the pointer counts, too.
  function itemAt(x, y) {
    for (const [dx, dy] of [[0, 0], [4, 0], [-4, 0], [0, 4], [0, -4], [3, 3], [-3, -3]]) {
      const found = document.elementFromPoint(x + dx, y + dy);
      const item = found && found.closest("svg .i");
      if (item && !item.classList.contains("dim")) {
        return item;
      }
    }
    return null;
  }

  function takeTitle(item) {
    const title = item.querySelector("title");
    item.dataset.tip = title.textContent;
    item.setAttribute("aria-label", title.textContent);
    item.setAttribute("role", "img");
    title.remove(); // or the browser shows it, too
  }

  function pointed(event) {
    const svg = event.target.closest ? event.target.closest("svg") : null;
    if (svg && svg.figuresAt) {
      mark(null);
      tell(svg.figuresAt(event.clientX, event.clientY), event.clientX, event.clientY);
    } else {
      mark(svg && itemAt(event.clientX, event.clientY), event.clientX, event.clientY);
    }
  }
  document.addEventListener("pointermove", pointed);
  document.addEventListener("pointerdown", pointed);

  // A picture takes the focus as a whole; arrows go from one item to the next.
  function walk(svg) {
    svg.tabIndex = 0;
    svg.setAttribute("role", "group");
    svg.addEventListener("blur", () => mark(null));
    svg.addEventListener("focus", () => svg.matches(":focus-visible") && step(svg, 0));
    svg.addEventListener("keydown", (event) => {
      const by = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1,
        Home: -Infinity, End: Infinity}[event.key];
      if (by !== undefined) {
        step(svg, by);
        event.preventDefault();
      } else if (event.key === "Escape") {
        mark(null);
      } else if (event.key === "Enter" && marked) {
        marked.dispatchEvent(new Event("click"));
      }
    });
  }

  function step(svg, by) {
    const shown = (item) => item.getClientRects().length;
    const items = [...svg.querySelectorAll(".i:not(.dim)")].filter(shown);
    const at = items.indexOf(marked);
    const next = at < 0 ? 0 : Math.max(0, Math.min(items.length - 1, at + by));
    if (items.length) {
      items[next].scrollIntoView({block: "nearest", inline: "nearest"});
      mark(items[next]);
    }
  }

  // ---- tools above a picture ----

  function button(text, label, act) {
    const made = make("button", {type: "button", "aria-label": label, title: label}, text);
    made.addEventListener("click", act);
    return made;
  }

  // Three buttons; `apply` draws at a zoom, and the middle of what is seen stays there.
  function addZoom(tools, scroll, most, apply) {
    let zoom = 1;
    function set(value) {
      const middle = (scroll.scrollLeft + scroll.clientWidth / 2) / scroll.scrollWidth;
      const center = (scroll.scrollTop + scroll.clientHeight / 2) / scroll.scrollHeight;
      zoom = Math.max(1, Math.min(most, value));
      apply(zoom);
      scroll.scrollLeft = middle * scroll.scrollWidth - scroll.clientWidth / 2;
      scroll.scrollTop = center * scroll.scrollHeight - scroll.clientHeight / 2;
    }
    tools.append(button("+", "zoom in", () => set(zoom * 1.5)),
      button("\u2212", "zoom out", () => set(zoom / 1.5)),
      button("1:1", "whole picture", () => set(1)));
    scroll.addEventListener("keydown", (event) => {
      const by = {"+": zoom * 1.5, "=": zoom * 1.5, "-": zoom / 1.5, "0": 1}[event.key];
      if (by !== undefined && !event.ctrlKey && !event.metaKey) {
        set(by);
      }
    });
  }

  // "3, 8-11" as a test of servers; nothing written is all of them.
  function readServers(text) {
    const ranges = [...text.matchAll(/(\d+)(?:\s*[-\u2013]\s*(\d+))?/g)]
      .map((m) => [+m[1], +(m[2] || m[1])]);
    return ranges.length ? (s) => ranges.some(([a, b]) => a <= s && s <= b) : null;
  }

  function addServers(tools, apply) {
    const label = make("label", {}, "servers ");
    const input = make("input", {type: "text", placeholder: "all; or 3, 8-11"});
    input.addEventListener("input", () => apply(readServers(input.value)));
    label.append(input);
    tools.append(label);
  }

  function addKinds(tools, kinds, apply) {
    const off = new Set();
    for (const kind of kinds) {
      const label = make("label");
      const box = make("input", {type: "checkbox"});
      box.checked = true;
      box.addEventListener("change", () => {
        if (box.checked) {
          off.delete(kind);
        } else {
          off.add(kind);
        }
        apply(off);
      });
      label.append(box, kind);
      tools.append(label);
    }
  }

  function zoomPicture(tools, scroll, svg) {
    addZoom(tools, scroll, 8, (zoom) => {
      svg.style.width = zoom > 1 ? zoom * 100 + "%" : "";
      svg.style.minWidth = zoom > 1 ? zoom * 100 + "%" : "";
      scroll.style.maxHeight = zoom > 1 ? "90vh" : "";
      scroll.style.overflow = zoom > 1 ? "auto" : "";
    });
  }

  // ---- the fabric ----

  const serversOf = (item) => (item.dataset.s || "").split(" ").map(Number);

  function fabric(tools, scroll, svg) {
    const items = [...svg.querySelectorAll(".i")];
    const nodes = items.filter((i) => !i.dataset.k);
    const cables = items.filter((i) => i.dataset.k);
    const state = {wanted: null, off: new Set(), folds: null};
    function refresh() {
      for (const item of items) {
        const servers = serversOf(item);
        const out = (state.wanted && !servers.some(state.wanted)) || state.off.has(item.dataset.k);
        item.classList.toggle("dim", Boolean(out));
      }
      if (state.folds) {
        state.folds();
      }
    }
    zoomPicture(tools, scroll, svg);
    addServers(tools, (wanted) => {
      state.wanted = wanted;
      refresh();
    });
    addKinds(tools, [...new Set(cables.map((c) => c.dataset.k))].sort((a, b) =>
      a.localeCompare(b, "en", {numeric: true})).slice(0, 12), (off) => {
      state.off = off;
      refresh();
    });
    if (nodes.length > NODES_MAX) {
      state.folds = fold(tools, svg, nodes, cables, state);
      refresh();
    }
  }

  // Neighbors on the circle as one, and the cables between two such groups as one stroke, until a
  // group is opened. Returns what shows and hides.
  function fold(tools, svg, nodes, cables, state) {
    const size = Math.ceil(nodes.length / GROUPS);
    const groupOf = new Map(); // server -> group
    const groups = [];
    nodes.forEach((node, place) => {
      const g = Math.floor(place / size);
      groups[g] = groups[g] || {servers: [], open: false, place: 0};
      groups[g].servers.push(+node.dataset.s);
      groups[g].place = place - (groups[g].servers.length - 1) / 2;
      groupOf.set(+node.dataset.s, g);
    });
    const layer = make("g");
    const numbers = svg.querySelector("g[pointer-events]"); // of servers, under the groups
    svg.append(layer);
    const middle = nodes[Math.floor(nodes.length / 2)].querySelector("circle");
    const top = nodes[0].querySelector("circle");
    const cx = +top.getAttribute("cx");
    const cy = (+top.getAttribute("cy") + +middle.getAttribute("cy")) / 2;
    const radius = cy - top.getAttribute("cy");
    const spot = (group, r) => {
      const angle = 2 * Math.PI * group.place / nodes.length;
      return [cx + r * Math.sin(angle), cy - r * Math.cos(angle)];
    };
    const name = (group) => {
      const s = group.servers;
      const run = s.every((v, i) => i === 0 || v === s[i - 1] + 1);
      return run ? s[0] + "\u2013" + s[s.length - 1] : s.join(", ");
    };
    const short = (group) => {
      const whole = name(group);
      return whole.includes(",") ? group.servers[0] + "\u2026" : whole;
    };
    function drawNode(group) {
      const [x, y] = spot(group, radius);
      const node = make("g", {class: "i group"});
      node.dataset.tip = "servers " + name(group) + ": " +
        (group.open ? "click or Enter folds them" : "click or Enter opens them");
      node.setAttribute("aria-label", node.dataset.tip);
      const [lx, ly] = group.open ? spot(group, radius + 26) : [x, y];
      node.append(make("circle", {cx: lx, cy: ly, r: group.open ? 8 : 23, class: "p x"}),
        make("text", {x: lx, y: ly + 3.5, class: "t n", "text-anchor": "middle"},
          group.open ? "\u2212" : short(group)));
      node.addEventListener("click", () => {
        group.open = !group.open;
        show();
      });
      layer.append(node);
    }
    function drawBundle(key, list) {
      const [a, b] = key.split(" ").map((g) => groups[g]);
      const [x1, y1] = spot(a, radius);
      const [x2, y2] = spot(b, radius);
      const bend = (v, w, center) => center + ((v + w) / 2 - center) * 0.6;
      const bundle = make("g", {class: "i"});
      bundle.dataset.tip = "servers " + name(a) + " \u2194 " + name(b) + ": " + list.length +
        " cables";
      bundle.setAttribute("aria-label", bundle.dataset.tip);
      const inside = a === b;
      bundle.append(make("path", {class: "so", "stroke-width": Math.min(1 + list.length / 3, 9),
        d: inside ? "" : "M" + x1 + " " + y1 + "Q" + bend(x1, x2, cx) + " " + bend(y1, y2, cy) +
          " " + x2 + " " + y2}));
      if (!inside) {
        layer.prepend(bundle);
      }
    }
    function show() {
      mark(null);
      layer.replaceChildren();
      const bundles = new Map();
      for (const cable of cables) {
        const [a, b] = serversOf(cable).map((s) => groupOf.get(s));
        const open = groups[a].open || groups[b].open;
        cable.style.display = open ? "" : "none";
        if (!open && !cable.classList.contains("dim")) {
          const key = Math.min(a, b) + " " + Math.max(a, b);
          bundles.set(key, (bundles.get(key) || []).concat(cable));
        }
      }
      numbers.style.display = groups.every((group) => group.open) ? "" : "none";
      for (const node of nodes) {
        node.style.display = groups[groupOf.get(+node.dataset.s)].open ? "" : "none";
      }
      bundles.forEach((list, key) => drawBundle(key, list));
      groups.forEach(drawNode);
    }
    tools.append(button("open all", "open all groups", () => {
      groups.forEach((group) => { group.open = true; });
      show();
    }), button("fold", "fold all groups", () => {
      groups.forEach((group) => { group.open = false; });
      show();
    }));
    return show;
  }

  // ---- fabrics that one buys ----

  function market(tools, svg) {
    const items = [...svg.querySelectorAll(".i")];
    addKinds(tools, [...new Set(items.map((i) => i.dataset.k))].sort(), (off) => {
      items.forEach((item) => item.classList.toggle("dim", off.has(item.dataset.k)));
    });
  }

  // ---- tables ----

  // "35.99 s", "1,024", "$48,512", "3.2 kW" as numbers in one unit; of two in a cell the first.
  function readFigure(text) {
    const found = /^\$?([\d,.]+) ?([pnumkMGT]?)(s|B|W|bps)?( |$)/.exec(text);
    const prefix = {p: 1e-12, n: 1e-9, u: 1e-6, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12};
    return found ? Number(found[1].replaceAll(",", "")) * (prefix[found[2]] || 1) : NaN;
  }

  // A column's title sorts by it, up and then down. Rows without figures stay last.
  function sortable(table) {
    const titles = [...table.rows[0].cells];
    const rows = [...table.rows].slice(1);
    titles.forEach((title, column) => {
      const made = button(title.textContent, "sort by " + title.textContent, () => {
        const up = title.getAttribute("aria-sort") !== "ascending";
        titles.forEach((other) => other.removeAttribute("aria-sort"));
        title.setAttribute("aria-sort", up ? "ascending" : "descending");
        const key = (row) => row.cells.length === titles.length && row.cells[column].textContent;
        const least = (a, b) => {
          const [x, y] = [readFigure(a), readFigure(b)];
          return isNaN(x) || isNaN(y) ? a.localeCompare(b, "en", {numeric: true}) : x - y;
        };
        rows.sort((a, b) => {
          const [x, y] = [key(a), key(b)];
          return x === false || y === false ? (x === false) - (y === false)
            : (up ? 1 : -1) * least(x, y);
        });
        rows[0].parentNode.append(...rows);
      });
      title.replaceChildren(made);
    });
  }

  // ---- units ----

  function unit(value, units) {
    const [scale, name] = units.find(([least]) => value >= least) || units[units.length - 1];
    return Number((value / scale).toPrecision(4)) + " " + name;
  }
  const bytes = (b) => unit(b, [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]]);
  const TIMES = [[1e12, "s"], [1e9, "ms"], [1e6, "us"], [1e3, "ns"], [1, "ps"]];
  const time = (ps) => unit(ps, TIMES);

  // ---- the timeline ----

  const LANE = 26; // of style .lanes li
  const COMPUTE = 0;

  function timeline(tools, scroll, svg, data) {
    const state = {zoom: 1, wanted: null, off: new Set(), open: new Set(), rows: [], at: null};
    const members = data.groups.map((list) => new Set(list));
    const present = data.kinds.filter((_, k) => data.tasks.some((t) => t[0] === k));
    const lanes = make("div", {class: "lanes"});
    const names = make("ol");
    const field = make("div", {class: "scroll", tabindex: 0, role: "region",
      "aria-label": "Timeline; arrows go from task to task, Enter opens a group"});
    const picture = make("svg", {});
    picture.setAttribute("aria-label", svg.getAttribute("aria-label"));
    scroll.replaceWith(lanes);
    field.append(picture);
    lanes.append(names, field);

    function touches(task, servers) {
      const [kind, , , place, other] = task;
      if (other >= 0) {
        return servers.has(place) || servers.has(other);
      }
      if (data.kinds[kind][2] === COMPUTE) {
        return servers.has(place);
      }
      return data.groups[place].some((s) => servers.has(s));
    }
    // Groups of servers where there are many; an open one is followed by its servers.
    function findRows() {
      const all = [...Array(data.servers).keys()].filter((s) => !state.wanted || state.wanted(s));
      const one = (s) => ({name: String(s), servers: new Set([s]), group: null});
      if (all.length <= LANES_MAX) {
        return all.map(one);
      }
      const size = Math.ceil(all.length / GROUPS);
      const rows = [];
      for (let g = 0; g * size < all.length; g++) {
        const list = all.slice(g * size, (g + 1) * size);
        const key = list[0] + "\u2013" + list[list.length - 1];
        rows.push({name: key, servers: new Set(list), group: key});
        if (state.open.has(key)) {
          rows.push(...list.map(one));
        }
      }
      return rows;
    }
    function nameRow(row) {
      const line = make("li");
      if (row.group) {
        const open = state.open.has(row.group);
        const toggle = button((open ? "\u2212 " : "+ ") + row.name,
          (open ? "fold" : "open") + " servers " + row.name, () => toggleRow(row));
        toggle.setAttribute("aria-expanded", open);
        line.append(toggle);
      } else {
        line.textContent = row.name;
      }
      return line;
    }
    function toggleRow(row) {
      if (!state.open.delete(row.group)) {
        state.open.add(row.group);
      }
      draw();
    }
    // One path a kind and row, of columns that some task touches.
    function drawRow(row, top, width) {
      for (let kind = 0; kind < data.kinds.length; kind++) {
        const [, color, network] = data.kinds[kind];
        const columns = new Uint8Array(width + 1);
        for (const task of row.tasks) {
          if (task[0] === kind) {
            columns.fill(1, Math.floor(task[1] / data.end * width),
              Math.ceil((task[1] + task[2]) / data.end * width));
          }
        }
        let d = "";
        for (let x = 0; x < width; x++) {
          let end = x;
          while (end < width && columns[end]) {
            end++;
          }
          if (end > x) {
            const y = top + (network ? 13 : 2);
            d += "M" + x + " " + y + "h" + (end - x) + "v11h" + (x - end) + "z";
            x = end;
          }
        }
        if (d) {
          picture.append(make("path", {class: color, d}));
        }
      }
    }
    function drawAxis(width, height) {
      const total = data.end * data.tick_ps;
      const [scale, name] = TIMES.find(([least]) => total >= least) || TIMES[4];
      const parts = Math.max(2, Math.floor(width / 110));
      const decade = 10 ** Math.floor(Math.log10(total / scale / parts));
      const step = [1, 2, 5, 10].map((f) => f * decade).find((s) => total / scale / s <= parts);
      for (let i = 0; i * step * scale <= total; i++) {
        const x = i * step * scale / total * width;
        picture.append(make("path", {class: "g", d: "M" + x + " 22V" + height}),
          make("text", {class: "m", x, y: 15, "text-anchor": i ? "middle" : "start"},
            Number((i * step).toPrecision(8)) + (i ? "" : " " + name)));
      }
    }
    function draw() {
      mark(null);
      state.at = null;
      state.rows = findRows();
      names.replaceChildren(...state.rows.map(nameRow)); // first: what it leaves is the field's
      const width = Math.max(240, Math.round((field.clientWidth || 900) * state.zoom));
      const height = 26 + state.rows.length * LANE;
      picture.setAttribute("width", width);
      picture.setAttribute("height", height);
      picture.replaceChildren();
      drawAxis(width, height);
      state.rows.forEach((row, i) => {
        row.tasks = data.tasks.filter((t) => !state.off.has(data.kinds[t[0]][0]) &&
          touches(t, row.servers)).sort((a, b) => a[1] - b[1]);
        drawRow(row, 26 + i * LANE, width);
      });
    }
    function words(task) {
      const [kind, start, length, place, other, size] = task;
      const name = data.kinds[kind][0];
      const from = start * data.tick_ps;
      const span = time(length * data.tick_ps) + ", from " + time(from) + " to " +
        time(from + length * data.tick_ps);
      if (other >= 0) {
        return name + " " + bytes(size) + ", " + place + " \u2192 " + other + ": " + span;
      }
      if (data.kinds[kind][2] === COMPUTE) {
        return name + " on server " + place + ": " + span;
      }
      return name + " " + bytes(size) + " over " + members[place].size + " servers: " + span;
    }
    picture.figuresAt = (x, y) => {
      const box = picture.getBoundingClientRect();
      const row = state.rows[Math.floor((y - box.y - 26) / LANE)];
      if (!row) {
        return "";
      }
      const network = (y - box.y - 26) % LANE >= 12.5 ? 1 : 0;
      const at = (x - box.x) / box.width * data.end;
      const near = data.end / box.width;
      const found = row.tasks.filter((t) => data.kinds[t[0]][2] === network &&
        t[1] <= at + near && t[1] + t[2] >= at - near);
      const told = found.slice(0, 4).map(words).join("\n");
      return (row.group ? "servers " : "server ") + row.name + (found.length ? "\n" + told : ": " +
        (network ? "nothing on the network" : "computes nothing")) +
        (found.length > 4 ? "\nand " + (found.length - 4) + " more" : "");
    };
    // Arrows: left and right along a lane, up and down from lane to lane.
    field.addEventListener("keydown", (event) => {
      const across = {ArrowRight: 1, ArrowLeft: -1}[event.key];
      const down = {ArrowDown: 1, ArrowUp: -1}[event.key];
      state.at = state.at || {row: 0, task: -1};
      if (across) {
        state.at.task += across;
      } else if (down) {
        state.at.row += down;
      } else if (event.key === "Enter" && state.rows[state.at.row].group) {
        toggleRow(state.rows[state.at.row]);
        return;
      } else {
        if (event.key === "Escape") {
          tell("");
        }
        return;
      }
      event.preventDefault();
      state.at.row = Math.max(0, Math.min(state.rows.length - 1, state.at.row));
      const row = state.rows[state.at.row];
      state.at.task = Math.max(0, Math.min(row.tasks.length - 1, state.at.task));
      const task = row.tasks[state.at.task];
      const width = picture.getBoundingClientRect().width;
      const x = task ? (task[1] + task[2] / 2) / data.end * width : 0;
      if (x < field.scrollLeft || x > field.scrollLeft + field.clientWidth) {
        field.scrollLeft = x - field.clientWidth / 2;
      }
      const box = picture.getBoundingClientRect();
      tell((row.group ? "servers " : "server ") + row.name + "\n" +
        (task ? words(task) : "no task"), box.x + x, box.y + 26 + (state.at.row + 1) * LANE);
    });
    field.addEventListener("blur", () => tell(""));
    addZoom(tools, field, 64, (zoom) => {
      state.zoom = zoom;
      draw();
    });
    addServers(tools, (wanted) => {
      state.wanted = wanted;
      draw();
    });
    addKinds(tools, present.map((kind) => kind[0]), (off) => {
      state.off = off;
      draw();
    });
    for (const [i, kind] of present.entries()) {
      const box = make("svg", {width: 12, height: 12, "aria-hidden": "true"});
      box.setAttribute("style", "display:inline;width:12px;flex:none");
      box.append(make("rect", {width: 12, height: 12, class: kind[1]}));
      tools.querySelectorAll("input[type=checkbox]")[i].after(box);
    }
    if (data.tasks.length < data.shown) {
      tools.append(make("span", {class: "muted"},
        "the " + data.tasks.length + " longest of " + data.shown + " tasks"));
    }
    addEventListener("resize", draw);
    draw();
  }

  // ---- all of a page ----

  document.querySelectorAll("svg .i").forEach(takeTitle);
  for (const figure of document.querySelectorAll("figure")) {
    const scroll = figure.querySelector(".scroll");
    const svg = scroll.querySelector("svg");
    const tools = make("div", {class: "tools"});
    const kind = figure.dataset.tools;
    if (svg.querySelector(".i")) {
      walk(svg);
    }
    if (kind === "") {
      continue;
    }
    figure.prepend(tools);
    if (kind === "fabric") {
      fabric(tools, scroll, svg);
    } else if (kind === "market") {
      market(tools, svg);
    } else if (kind === "timeline") {
      timeline(tools, scroll, svg, JSON.parse(figure.querySelector("script").textContent));
    } else {
      zoomPicture(tools, scroll, svg);
    }
  }
  document.querySelectorAll("table[data-tools=sort]").forEach(sortable);
})();
