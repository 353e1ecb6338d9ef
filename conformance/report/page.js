const only = document.getElementById("only"), find = document.getElementById("find");
function show() {
  const text = find.value.toLowerCase();
  for (const row of document.querySelectorAll(".outcomes tbody tr")) {
    const wanted = (!only.checked || row.classList.contains("wrong")) && row.textContent.toLowerCase().includes(text);
    row.style.display = wanted ? "" : "none";
  }
}
only.addEventListener("change", show);
find.addEventListener("input", show);
function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target && target.tagName === "DETAILS") target.open = true;
}
addEventListener("hashchange", openTarget);
openTarget();
