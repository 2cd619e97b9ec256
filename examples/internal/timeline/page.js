"use strict";
(function () {
  var main = document.querySelector("main"), svg = main.querySelector("svg");
  var more = document.getElementById("more"), level = document.getElementById("level");
  var zoom = 1;

  // set zooms so that the place at x, y of the view stays where it is.
  function set(next, x, y) {
    next = Math.min(32, Math.max(1, next));
    var by = next / zoom;
    var left = (main.scrollLeft + x) * by - x, top = (main.scrollTop + y) * by - y;
    zoom = next;
    svg.style.setProperty("--zoom", zoom);
    main.scrollLeft = left;
    main.scrollTop = top;
    level.textContent = Math.round(zoom * 100) + " %";
  }
  function centre(next) { set(next, main.clientWidth / 2, main.clientHeight / 2); }

  document.getElementById("in").onclick = function () { centre(zoom * 1.5); };
  document.getElementById("out").onclick = function () { centre(zoom / 1.5); };
  document.getElementById("all").onclick = function () { centre(1); };
  main.addEventListener("wheel", function (e) {
    if (!e.ctrlKey) return;
    e.preventDefault();
    var box = main.getBoundingClientRect();
    set(zoom * Math.exp(-e.deltaY / 300), e.clientX - box.left, e.clientY - box.top);
  }, { passive: false });
  document.addEventListener("keydown", function (e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === "+" || e.key === "=") centre(zoom * 1.5);
    else if (e.key === "-") centre(zoom / 1.5);
    else if (e.key === "0") centre(1);
  });

  // A hover text of a browser comes late, and not at all on a touch screen. The text is
  // taken out of its element, so that it is shown once.
  var texts = new Map();
  svg.querySelectorAll("rect > title, path > title").forEach(function (t) {
    texts.set(t.parentNode, t.textContent);
    t.parentNode.setAttribute("aria-label", t.textContent);
    t.remove();
  });
  function show(e) {
    var text = texts.get(e.target);
    more.hidden = !text;
    if (!text) return;
    more.textContent = text;
    var box = more.getBoundingClientRect();
    more.style.left = Math.max(4, Math.min(e.clientX + 14, innerWidth - box.width - 8)) + "px";
    more.style.top = Math.max(4, Math.min(e.clientY + 14, innerHeight - box.height - 8)) + "px";
  }
  main.addEventListener("pointermove", show);
  main.addEventListener("pointerdown", show);
  main.addEventListener("pointerleave", function () { more.hidden = true; });
})();
