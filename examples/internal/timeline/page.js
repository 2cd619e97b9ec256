"use strict";
(function () {
  var main = document.querySelector("main"), svg = main.querySelector("svg");
  var more = document.getElementById("more"), level = document.getElementById("level");
  var left = +main.dataset.left, right = +main.dataset.right, seconds = +main.dataset.seconds;
  var top = +main.dataset.top, bottom = +main.dataset.bottom;
  var zoom = 1, offset = 0; // what is shown begins offset pixels behind the left edge
  var space = "http://www.w3.org/2000/svg";

  // What lies on the axis of time moves, and is cut at the edges of the area. Each part
  // is a function that puts it where f says.
  var area = document.createElementNS(space, "g"), clip = document.createElementNS(space, "clipPath");
  var window_ = document.createElementNS(space, "rect"), moves = [];
  clip.id = "area";
  window_.setAttribute("x", left - 2);
  window_.setAttribute("width", right - left + 22);
  window_.setAttribute("height", bottom + 40);
  clip.append(window_);
  area.setAttribute("clip-path", "url(#area)");
  function number(e, name) { return +e.getAttribute(name); }
  svg.querySelectorAll("rect,path,text").forEach(function (e) {
    if (e.closest("pattern")) return;
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
    } else {
      var at = number(e, "x"), height = number(e, "y"), width = number(e, "width");
      if (at < left - 1 || height < top || e.tagName === "text" && height > bottom + 20) return;
      moves.push(function (f) {
        e.setAttribute("x", f(at));
        if (e.tagName === "rect") e.setAttribute("width", Math.max(f(at + width) - f(at), 0.5));
      });
    }
    area.append(e);
  });
  svg.append(clip, area);

  function time(x) {
    var s = (x - left) / (right - left) * seconds, digits = Math.max(0, 3 - Math.floor(Math.log10(seconds / zoom)));
    return s.toFixed(Math.min(digits, 9)) + " s";
  }
  // show draws what the zoom and the offset say.
  function show() {
    more.hidden = true;
    offset = Math.min(Math.max(offset, 0), (right - left) * (1 - 1 / zoom));
    moves.forEach(function (move) {
      move(function (x) { return Math.round((left + (x - left - offset) * zoom) * 100) / 100; });
    });
    level.textContent = zoom === 1 ? "" : Math.round(zoom * 100) + " %, " + time(left + offset) + " to " + time(left + offset + (right - left) / zoom);
  }
  // set zooms so that the place x of the picture stays where it is.
  function set(next, x) {
    next = Math.min(1000, Math.max(1, next));
    var part = Math.min(Math.max(x, left), right) - left;
    offset += part / zoom - part / next;
    zoom = next;
    show();
  }
  function centre(by) { set(zoom * by, (left + right) / 2); }
  function move(by) { offset += by * (right - left) / zoom; show(); }
  function all() { set(1, left); }
  function place(e) {
    var box = svg.getBoundingClientRect();
    return (e.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
  }

  var buttons = { "in": function () { centre(2); }, out: function () { centre(0.5); }, all: all,
    back: function () { move(-0.5); }, forth: function () { move(0.5); } };
  Object.keys(buttons).forEach(function (id) { document.getElementById(id).onclick = buttons[id]; });
  main.addEventListener("wheel", function (e) {
    if (!e.ctrlKey) return;
    e.preventDefault();
    set(zoom * Math.exp(-e.deltaY / 300), place(e));
  }, { passive: false });
  document.addEventListener("keydown", function (e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === "+" || e.key === "=") centre(2);
    else if (e.key === "-") centre(0.5);
    else if (e.key === "0") all();
    else if (e.key === "ArrowLeft" && zoom > 1) { move(-0.25); e.preventDefault(); }
    else if (e.key === "ArrowRight" && zoom > 1) { move(0.25); e.preventDefault(); }
  });

  // A hover text of a browser comes late, and not at all on a touch screen. The text is
  // taken out of its element, so that it is shown once.
  var texts = new Map();
  svg.querySelectorAll("rect > title, path > title").forEach(function (t) {
    texts.set(t.parentNode, t.textContent);
    t.parentNode.setAttribute("aria-label", t.textContent);
    t.remove();
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
    if (e.pointerType === "mouse") from = place(e);
  });
  main.addEventListener("pointermove", function (e) {
    if (from !== null && e.buttons & 1 && zoom > 1) {
      more.hidden = true;
      offset += (from - place(e)) / zoom;
      from = place(e);
      show();
      return;
    }
    tell(e);
  });
  main.addEventListener("pointerup", function () { from = null; });
  main.addEventListener("pointerleave", function () { more.hidden = true; from = null; });
})();
