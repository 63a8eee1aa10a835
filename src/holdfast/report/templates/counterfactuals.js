
// The row whose smallest change is shown.
(function () {
  var list = document.getElementById("change-row");
  if (!list) { return; }
  var rows = document.querySelectorAll("#change-rows > .change-row");
  function show(place) {
    list.selectedIndex = (place + rows.length) % rows.length;
    rows.forEach(function (row, k) { row.classList.toggle("chosen", k === list.selectedIndex); });
  }
  list.addEventListener("change", function () { show(list.selectedIndex); });
  document.getElementById("change-before").addEventListener("click", function () { show(list.selectedIndex - 1); });
  document.getElementById("change-after").addEventListener("click", function () { show(list.selectedIndex + 1); });
  show(0);
})();
