// The drawing: drag nodes or the background; zoom with the wheel or the keys + and -.
import { el, shortened } from "../parts/dom.js";
import { Layout } from "./layout.js";

export const STEP = 1.3; // zoom factor of a key press or a button

export class Canvas {
  constructor({ openNode, openEdge }) {
    Object.assign(this, { openNode, openEdge });
    this.view = { x: 0, y: 0, scale: 1 };
    this.lines = el("g");
    this.dots = el("g");
    this.world = el("g", {}, this.lines, this.dots);
    this.svg = el(
      "svg.canvas",
      { role: "group", "aria-label": "Concepts and their relationships" },
      this.world,
    );
    this.svg.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        this.zoom(event.deltaY < 0 ? 1.1 : 1 / 1.1);
      },
      { passive: false },
    );
    this.svg.addEventListener("keydown", (event) => {
      const factor = { "+": STEP, "=": STEP, "-": 1 / STEP }[event.key]; // = is + without Shift
      if (factor && !event.ctrlKey && !event.metaKey) this.zoom(factor);
    });
    this.svg.addEventListener("pointerdown", (event) => this.press(event));
    this.svg.addEventListener("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel"])
      this.svg.addEventListener(end, (event) => this.release(event));
    new ResizeObserver(() => this.draw()).observe(this.svg);
  }

  // Concepts that were already shown keep their positions.
  show(nodes, edges) {
    const former = new Map((this.layout?.nodes ?? []).map((node) => [node.name, node]));
    for (const node of nodes) {
      const before = former.get(node.name);
      if (before) [node.x, node.y] = [before.x, before.y];
    }
    this.layout = new Layout(nodes, edges);
    this.lines.replaceChildren(
      ...edges.map((edge) => {
        edge.line = el(edge.isWeak ? "line.weak" : "line");
        return edge.line;
      }),
    );
    this.dots.replaceChildren(
      ...nodes.map((node) => {
        const radius = 6 + Math.min(8, Math.sqrt(node.mentions ?? 1));
        node.dot = el(
          `g${node.isCenter ? ".center" : ""}${node.onPath ? ".on-path" : ""}`,
          {
            tabindex: 0,
            role: "button",
            "aria-label": node.name,
            keydown: (event) => {
              if (event.key === "Enter" || event.key === " ") {
                event.preventDefault();
                this.openNode(node);
              }
            },
          },
          el("circle", { r: radius }),
          el("text", { x: radius + 4, y: 4 }, shortened(node.name, 28)),
        );
        node.dot.node = node;
        return node.dot;
      }),
    );
    for (let step = 0; step < 120; step++) this.layout.step(); // lay it out before it appears
    this.run();
  }

  run() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      const goesOn = this.layout.step();
      this.draw();
      if ((goesOn || this.held) && this.svg.isConnected) this.run();
    });
  }

  draw() {
    if (!this.layout) return;
    const { width, height } = this.svg.getBoundingClientRect();
    const { x, y, scale } = this.view;
    this.world.setAttribute(
      "transform",
      `translate(${width / 2 + x} ${height / 2 + y}) scale(${scale})`,
    );
    for (const { line, source, target } of this.layout.edges) {
      line.setAttribute("x1", source.x.toFixed(1));
      line.setAttribute("y1", source.y.toFixed(1));
      line.setAttribute("x2", target.x.toFixed(1));
      line.setAttribute("y2", target.y.toFixed(1));
    }
    for (const { dot, x: left, y: top } of this.layout.nodes)
      dot.setAttribute("transform", `translate(${left.toFixed(1)} ${top.toFixed(1)})`);
  }

  zoom(factor) {
    this.view.scale = Math.min(4, Math.max(0.25, this.view.scale * factor));
    this.draw();
  }

  press(event) {
    const dot = event.target.closest("g[role=button]");
    this.svg.setPointerCapture(event.pointerId);
    this.from = { x: event.clientX, y: event.clientY, moved: 0 };
    this.held = dot?.node ?? null;
    this.onLine = event.target.closest("line");
    this.isMoving = true;
    if (this.held) this.held.held = true;
  }

  move(event) {
    if (!this.isMoving) return;
    const x = event.clientX - this.from.x;
    const y = event.clientY - this.from.y;
    this.from = {
      x: event.clientX,
      y: event.clientY,
      moved: this.from.moved + Math.abs(x) + Math.abs(y),
    };
    if (this.held) {
      this.held.x += x / this.view.scale;
      this.held.y += y / this.view.scale;
      this.layout.heat = Math.max(this.layout.heat, 0.3);
      this.run();
    } else {
      this.view.x += x;
      this.view.y += y;
      this.draw();
    }
  }

  release() {
    if (!this.isMoving) return;
    const [node, line, moved] = [this.held, this.onLine, this.from.moved];
    this.isMoving = false;
    this.held = null;
    if (node) node.held = false;
    if (moved > 4) return;
    if (node) this.openNode(node);
    else if (line) this.openEdge(this.layout.edges.find((edge) => edge.line === line));
  }
}
