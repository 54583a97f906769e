(() => {
  "use strict";
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  const narrow = matchMedia("(max-width: 640px)");
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // Only what depends on light or dark, and on the width: a relayout with the same keys follows a change.
  const themed = (layout) => {
    const theme = {
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      "font.color": colour("--ink"),
      "font.family": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif",
      "font.size": narrow.matches ? 11 : 13,
      "hoverlabel.bgcolor": colour("--panel"),
      "hoverlabel.bordercolor": colour("--rule"),
      "hoverlabel.font.color": colour("--ink"),
      "modebar.bgcolor": "rgba(0,0,0,0)",
      "modebar.color": colour("--quiet"),
      "modebar.activecolor": colour("--ink"),
    };
    for (const axis of Object.keys(layout).filter((key) => /^[xy]axis\d*$/.test(key))) {
      theme[axis + ".gridcolor"] = colour("--grid");
      theme[axis + ".linecolor"] = colour("--rule");
      theme[axis + ".tickcolor"] = colour("--rule");
      theme[axis + ".zerolinecolor"] = colour("--rule");
      theme[axis + ".title.font.size"] = narrow.matches ? 11 : 13;
    }
    return theme;
  };

  const draw = (figure) => {
    if (figure.drawn) return;
    const { data, layout, config } = JSON.parse(figure.querySelector("script").textContent);
    figure.drawn = figure.querySelector(".plot");
    for (const [path, value] of Object.entries(themed(layout))) {
      const keys = path.split(".");
      const last = keys.pop();
      keys.reduce((at, key) => (at[key] ??= {}), layout)[last] = value;
    }
    Plotly.newPlot(figure.drawn, data, layout, config);
  };

  const figures = [...document.querySelectorAll(".chart")];
  figures.filter((figure) => !figure.closest("details")).forEach(draw);
  for (const details of document.querySelectorAll("details")) {
    details.addEventListener("toggle", () => details.querySelectorAll(".chart").forEach(draw));
  }
  const follow = () => {
    for (const { drawn } of figures) if (drawn) Plotly.relayout(drawn, themed(drawn.layout));
  };
  scheme.addEventListener("change", follow);
  narrow.addEventListener("change", follow);
})();
