"use strict";
(function () {
  var main = document.querySelector("main"), seconds = +main.dataset.seconds;
  var more = document.getElementById("more"), level = document.getElementById("level");
  var zoom = 1, begin = 0; // of the shown part of the axis, 0 to 1
  var space = "http://www.w3.org/2000/svg";
  var texts = new Map(); // of elements, shown under a pointer

  // chart returns a drawing. Its function show draws the zoomed part of the axis, and
  // place returns where on the axis a pointer is.
  function chart(root) {
    var svg = root.querySelector("svg"), data = root.dataset;
    var left = +data.left, right = +data.right, top = +data.top, bottom = +data.bottom, least = +data.least;
    var bars = data.bars ? data.bars.split(" ").map(Number) : [], bar = 0;

    // Elements on the time axis move and are cut at the edges of the area. Labels of ticks
    // are hidden beyond the edges. Each part is a function that places an element by f.
    var area = document.createElementNS(space, "g"), clip = document.createElementNS(space, "clipPath");
    var edges = document.createElementNS(space, "rect"), moves = [];
    clip.id = "area-" + root.className;
    edges.setAttribute("x", left - 2);
    edges.setAttribute("width", right - left + 22);
    edges.setAttribute("height", bottom + 40);
    clip.append(edges);
    area.setAttribute("clip-path", "url(#" + clip.id + ")");
    function number(e, name) { return +e.getAttribute(name); }
    function move(e) {
      if (e.tagName === "path") {
        var x = 0, y = 0, points = [], parts = e.getAttribute("d").match(/[MLHVz]|-?[\d.]+/g);
        for (var i = 0; i < parts.length;) {
          var c = parts[i++];
          if (c === "z") break;
          if (c !== "V") x = +parts[i++];
          if (c !== "H") y = +parts[i++];
          points.push([x, y]);
        }
        if (points[0][0] < left - 1 || points[0][1] < top) return;
        var end = parts[parts.length - 1] === "z" ? "z" : "";
        moves.push(function (f) {
          e.setAttribute("d", "M" + points.map(function (p) { return f(p[0]) + " " + p[1]; }).join("L") + end);
        });
        area.append(e);
        return;
      }
      var at = number(e, "x"), height = number(e, "y");
      if (at < left - 1 || height < top) return;
      if (e.tagName === "rect") {
        var from = bars[bar++], to = from + bars[bar++], inset = (parseFloat(getComputedStyle(e).strokeWidth) || 0) / 2;
        if (getComputedStyle(e).stroke === "none") inset = 0;
        moves.push(function (f) {
          var x = f(from), width = Math.max(f(to) - x, least);
          if (x <= right) x = Math.min(x, right - width);
          e.setAttribute("x", x + inset);
          e.setAttribute("width", width - 2 * inset);
        });
        area.append(e);
      } else if (height <= bottom) {
        moves.push(function (f) { e.setAttribute("x", f(at)); });
        area.append(e);
      } else if (height <= bottom + 20) {
        moves.push(function (f) {
          e.setAttribute("x", f(at));
          e.setAttribute("visibility", f(at) < left - 1 || f(at) > right + 20 ? "hidden" : "visible");
        });
      }
    }
    svg.querySelectorAll("rect,path,text").forEach(function (e) { if (!e.closest("pattern")) move(e); });
    svg.append(clip, area);
    svg.querySelectorAll("rect > title, path > title").forEach(function (t) {
      texts.set(t.parentNode, t.textContent); // a browser shows its own text late, and never on a touch screen
      t.remove();
    });

    return {
      root: root,
      show: function () {
        var offset = begin * (right - left) * zoom;
        moves.forEach(function (move) {
          move(function (x) { return Math.round((left + (x - left) * zoom - offset) * 100) / 100; });
        });
      },
      place: function (e) {
        var box = svg.getBoundingClientRect(), x = (e.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
        return (Math.min(Math.max(x, left), right) - left) / (right - left);
      }
    };
  }
  var charts = [], drawn = new Map();
  main.querySelectorAll("div").forEach(function (root) { charts.push({ root: root }); });

  // current returns the drawing that fits the screen.
  function current() {
    var root = charts.find(function (c) { return c.root.getClientRects().length; }) || charts[0];
    if (!drawn.has(root)) drawn.set(root, chart(root.root));
    return drawn.get(root);
  }
  function time(part) {
    var digits = Math.max(0, 3 - Math.floor(Math.log10(seconds / zoom)));
    return (part * seconds).toFixed(Math.min(digits, 9)) + " s";
  }
  function show() {
    more.hidden = true;
    begin = Math.min(Math.max(begin, 0), 1 - 1 / zoom);
    current().show();
    level.textContent = zoom === 1 ? "" : Math.round(zoom * 100) + " %, " + time(begin) + " to " + time(begin + 1 / zoom);
  }
  // set zooms around a place of the shown part, 0 to 1.
  function set(next, part) {
    next = Math.min(1000, Math.max(1, next));
    begin += part / zoom - part / next;
    zoom = next;
    show();
  }
  function centre(by) { set(zoom * by, 0.5); }
  function move(by) { begin += by / zoom; show(); }
  function all() { set(1, 0); }

  var buttons = { "in": function () { centre(2); }, out: function () { centre(0.5); }, all: all,
    back: function () { move(-0.5); }, forth: function () { move(0.5); } };
  Object.keys(buttons).forEach(function (id) { document.getElementById(id).onclick = buttons[id]; });
  window.addEventListener("resize", show);
  main.addEventListener("wheel", function (e) {
    if (!e.ctrlKey) return;
    e.preventDefault();
    set(zoom * Math.exp(-e.deltaY / 300), current().place(e));
  }, { passive: false });
  document.addEventListener("keydown", function (e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === "+" || e.key === "=") centre(2);
    else if (e.key === "-") centre(0.5);
    else if (e.key === "0") all();
    else if (e.key === "ArrowLeft" && zoom > 1) { move(-0.25); e.preventDefault(); }
    else if (e.key === "ArrowRight" && zoom > 1) { move(0.25); e.preventDefault(); }
  });

  function tell(e) {
    var text = texts.get(e.target);
    more.hidden = !text;
    if (!text) return;
    more.textContent = text;
    var box = more.getBoundingClientRect();
    more.style.left = Math.max(4, Math.min(e.clientX + 14, innerWidth - box.width - 8)) + "px";
    more.style.top = Math.max(4, Math.min(e.clientY + 14, innerHeight - box.height - 8)) + "px";
  }
  var from = null; // where a drag began
  main.addEventListener("pointerdown", function (e) {
    tell(e);
    if (e.pointerType === "mouse") from = current().place(e);
  });
  main.addEventListener("pointermove", function (e) {
    if (from !== null && e.buttons & 1 && zoom > 1) {
      more.hidden = true;
      begin += (from - current().place(e)) / zoom;
      from = current().place(e);
      show();
      return;
    }
    tell(e);
  });
  main.addEventListener("pointerup", function () { from = null; });
  main.addEventListener("pointerleave", function () { more.hidden = true; from = null; });
  show();
})();
