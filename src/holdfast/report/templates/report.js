"use strict";
// All text reaches the page through textContent or setAttribute: names of columns and labels stay text.
(function () {
  var root = document.documentElement;
  root.classList.add("js");
  try {
    var theme = localStorage.getItem("holdfast-theme");
    if (theme === "light" || theme === "dark") { root.dataset.theme = theme; }
  } catch (refused) { /* a page without storage */ }
  var s = JSON.parse(document.getElementById("summary").textContent);
  var radii = s.radii, n = s.rows;
  var slider = document.getElementById("radius"), shown = document.getElementById("radius-value");

  function all(selector, within) { return Array.prototype.slice.call((within || document).querySelectorAll(selector)); }
  // As the rest of the report is rounded: halves to the even digit.
  function percent(share) {
    var value = 100 * share;
    return (value % 1 === 0.25 ? value - 1e-9 : value).toFixed(1) + "\u00a0%";
  }
  function number(value) { return String(Number(value.toPrecision(3))); }

  // Wilson's 95 % interval of a share of n.
  function interval(share) {
    var z = 1.959964, z2 = z * z / n, middle = share + z2 / 2;
    var half = z * Math.sqrt(share * (1 - share) / n + z2 / (4 * n));
    var low = share <= 0 ? 0 : (middle - half) / (1 + z2), high = share >= 1 ? 1 : (middle + half) / (1 + z2);
    return (100 * low).toFixed(1) + "–" + (100 * high).toFixed(1);
  }

  function at(key, i) {
    var own = s.curves[key];
    var certified = Math.round(own.certified[i] * n), kept = Math.round(own.attacked[i] * n), right = Math.round(own.attacked[0] * n);
    return { certified: certified, undecided: kept - certified, attacked: right - kept, wrong: n - right };
  }

  function show(i) {
    shown.textContent = number(radii[i]);
    slider.setAttribute("aria-valuetext", number(radii[i]) + " " + s.units);
    s.models.forEach(function (model, k) {
      var box = document.querySelectorAll(".model")[k], c = at(model.key, i);
      var errors = { clean: c.wrong / n, attacked: (c.wrong + c.attacked) / n, certified: (n - c.certified) / n };
      function out(name) { return box.querySelector('[data-out="' + name + '"]'); }
      out("kept").textContent = percent(c.certified / n);
      Object.keys(errors).forEach(function (kind) {
        out(kind).textContent = percent(errors[kind]);
        out(kind + "-interval").textContent = interval(errors[kind]);
      });
      Object.keys(c).forEach(function (part) {
        box.querySelector('[data-part="' + part + '"]').style.width = 100 * c[part] / n + "%";
      });
      out("stack").setAttribute("aria-label", "Of " + n + " test rows: " + c.certified + " certified, " + c.undecided +
        " undecided, " + c.attacked + " changed by an attack, " + c.wrong + " wrong already");
    });
    showClasses(radii[i]);
    all("svg[data-curve]").forEach(function (svg) {
      var d = svg.dataset, x = +d.left + radii[i] / d.reach * (d.right - d.left);
      var cursor = svg.querySelector(".cursor");
      cursor.setAttribute("x1", x); cursor.setAttribute("x2", x);
      all(".dot", svg).forEach(function (dot, k) {
        dot.setAttribute("cx", x);
        dot.setAttribute("cy", d.bottom - s.curves[s.models[k].key].certified[i] * (d.bottom - d.top));
      });
    });
  }
  // The table of classes follows the slider; an infinite radius is null.
  var classRows = all("table.classes tbody tr");
  function showClasses(radius) {
    if (!s.by_row) { return; }
    all('[data-out="radius"]').forEach(function (each) { each.textContent = number(radius); });
    classRows.forEach(function (row) {
      var own = s.by_row.models[row.dataset.model], code = +row.dataset["class"], count = 0, held = { attacked: 0, certified: 0 };
      s.by_row["class"].forEach(function (c, k) {
        if (c !== code) { return; }
        count += 1;
        if (!own.right[k]) { return; }
        if (!radius || own.upper[k] === null || own.upper[k] > radius) { held.attacked += 1; }
        if (!radius || own.radius[k] === null || own.radius[k] > radius) { held.certified += 1; }
      });
      if (!count) { return; }
      Object.keys(held).forEach(function (kind) {
        var cell = row.querySelector('[data-kind="' + kind + '"]');
        cell.textContent = percent(held[kind] / count);
        cell.dataset.v = held[kind] / count;
      });
    });
  }
  slider.value = s.at; // a browser may remember another place
  slider.addEventListener("input", function () { show(+slider.value); });

  // One note beside the pointer, for everything that has something to tell.
  var tip = document.getElementById("tip");
  function tell(text, event) {
    tip.textContent = text;
    tip.hidden = !text;
    if (!text) { return; }
    var box = tip.getBoundingClientRect(), x = event.clientX + 14, y = event.clientY + 16;
    if (x + box.width > window.innerWidth - 8) { x = Math.max(8, event.clientX - box.width - 10); }
    if (y + box.height > window.innerHeight - 8) { y = event.clientY - box.height - 12; }
    tip.style.left = x + "px"; tip.style.top = y + "px";
  }
  function inside(svg, event) {
    var box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
    return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  }
  function nearest(svg, event) {
    var d = svg.dataset, r = (inside(svg, event)[0] - d.left) / (d.right - d.left) * d.reach, best = 0;
    radii.forEach(function (value, i) { if (Math.abs(value - r) < Math.abs(radii[best] - r)) { best = i; } });
    return best;
  }
  function about(event) {
    var marked = event.target.closest("[data-tip]");
    if (marked) { return marked.dataset.tip; }
    var svg = event.target.closest("svg[data-curve], svg[data-heat]");
    if (!svg) { return ""; }
    if (svg.dataset.heat !== undefined) {
      var place = inside(svg, event), cell = +svg.dataset.cell, features = s.features;
      var i = Math.floor((place[1] - svg.dataset.top) / cell), j = Math.floor((place[0] - svg.dataset.left) / cell);
      if (i < 0 || i >= features.length || j >= features.length) { return ""; }
      if (j < 0) { j = i; }
      var value = s.matrices[svg.closest("figure").dataset.heatOf][i][j];
      return (i === j ? features[i] : features[i] + "\n× " + features[j]) + "\n" + (100 * value).toFixed(2) + " %";
    }
    var at_ = nearest(svg, event);
    return "radius " + number(radii[at_]) + s.models.map(function (model) {
      var own = s.curves[model.key], low = percent(own.certified[at_]), high = percent(own.attacked[at_]);
      return "\n" + model.method + ": " + (low === high ? low : low + " to " + high);
    }).join("");
  }
  document.addEventListener("pointermove", function (event) { tell(about(event), event); });
  document.addEventListener("pointerdown", function (event) {
    tell(about(event), event);
    var svg = event.target.closest("svg[data-curve]");
    if (svg) { slider.value = nearest(svg, event); show(+slider.value); }
  });
  document.addEventListener("scroll", function () { tip.hidden = true; }, { passive: true });
  document.addEventListener("pointerleave", function () { tip.hidden = true; });

  // Tables: a click on a heading sorts, another turns the order round.
  all("table.sortable").forEach(function (table) {
    var body = table.tBodies[0];
    all("thead th", table).forEach(function (head, column) {
      var button = head.querySelector(".sort");
      if (!button) { return; }
      button.addEventListener("click", function () {
        var numeric = head.classList.contains("num"), was = head.getAttribute("aria-sort");
        var down = was ? was === "ascending" : numeric;
        all("thead th", table).forEach(function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        var rows = all("tr", body).map(function (row) {
          var value = row.children[column].dataset.v;
          return { row: row, value: numeric ? +value : value };
        });
        rows.sort(function (a, b) {
          var order = numeric ? a.value - b.value : a.value.localeCompare(b.value, undefined, { numeric: true });
          return down ? -order : order;
        });
        rows.forEach(function (each) { body.appendChild(each.row); });
        table.classList.add("open");
        all('[data-show="' + table.id + '"]').forEach(function (button) { button.hidden = true; });
      });
    });
  });
  all("[data-show]").forEach(function (button) {
    button.addEventListener("click", function () {
      document.getElementById(button.dataset.show).classList.add("open");
      button.hidden = true;
    });
  });

  document.getElementById("theme").addEventListener("click", function () {
    var dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("holdfast-theme", root.dataset.theme); } catch (refused) { /* a page without storage */ }
  });
  window.addEventListener("beforeprint", function () { all("details").forEach(function (each) { each.open = true; }); });
  show(+slider.value);
})();
