// Click on a column's head to sort its table: numbers by value, other cells by text.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const value = (row) => row.cells[column].textContent;
      const parsed = (text) => Number(text.replace("−", "-").replace(/,/g, ""));
      const compare = (a, b) => {
        const [x, y] = [parsed(value(a)), parsed(value(b))];
        if (Number.isNaN(x) || Number.isNaN(y))
          return Number.isNaN(x) - Number.isNaN(y) || value(a).localeCompare(value(b));
        return up ? x - y : y - x;
      };
      const rows = [...table.tBodies[0].rows].sort(compare);
      table.tBodies[0].append(...rows);
    });
  });
}
