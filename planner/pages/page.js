// Shows the facts of the chosen operator; arrow keys go from one to the next. Without scripts all
// facts stand below the graph, and operators link to them.
document.documentElement.classList.add("js");
const nodes = [...document.querySelectorAll("a.node")];
function choose(node) {
  for (const each of nodes) {
    const chosen = each === node;
    each.setAttribute("aria-current", chosen);
    document.getElementById(each.dataset.op).classList.toggle("shown", chosen);
  }
}
const wide = matchMedia("(min-width: 60rem)").matches;
const named = (op) => nodes.find((node) => node.dataset.op === op);
document.addEventListener("click", (event) => {
  if (event.target.matches(".close")) choose(null);
  const link = event.target.closest("[data-op]");
  if (!link) return;
  event.preventDefault();
  const node = named(link.dataset.op);
  choose(node);
  if (link !== node) node.focus();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") choose(null);
  const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
  const next = nodes[nodes.indexOf(document.activeElement) + step];
  if (!step || !next || !document.activeElement.matches("a.node")) return;
  event.preventDefault();
  choose(next);
  next.focus();
});
const stateful = nodes.find((node) => node.matches(".state")) || nodes[0];
const first = named(location.hash.slice(1)) || (wide ? stateful : null);
if (first) choose(first);
for (const box of document.querySelectorAll(".view .scroll")) {
  const sink = box.querySelector("rect").getBoundingClientRect();
  box.scrollLeft += sink.x + sink.width / 2 - box.getBoundingClientRect().x - box.clientWidth / 2;
}
for (const advice of document.querySelectorAll(".advice")) advice.open = wide;
