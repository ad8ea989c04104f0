// A force layout for a few dozen nodes: nodes repel each other, edges pull, the center attracts.
const REPULSION = 9000;
const SPRING = 0.02;
const LENGTH = 120;
const CENTER = 0.012;
const FRICTION = 0.82;

export class Layout {
  constructor(nodes, edges) {
    this.nodes = nodes;
    this.edges = edges;
    nodes.forEach((node, at) => {
      const angle = at * 2.4; // the golden angle: no two nodes start at the same point
      node.x ??= Math.cos(angle) * 26 * Math.sqrt(at);
      node.y ??= Math.sin(angle) * 26 * Math.sqrt(at);
      node.dx = 0;
      node.dy = 0;
    });
    this.heat = 1;
  }

  step() {
    const { nodes, edges } = this;
    for (let i = 0; i < nodes.length; i++) {
      const one = nodes[i];
      for (let j = i + 1; j < nodes.length; j++) {
        const other = nodes[j];
        const x = one.x - other.x;
        const y = one.y - other.y;
        const square = Math.max(80, x * x + y * y);
        const force = REPULSION / square / Math.sqrt(square);
        one.dx += x * force;
        one.dy += y * force;
        other.dx -= x * force;
        other.dy -= y * force;
      }
      one.dx -= one.x * CENTER;
      one.dy -= one.y * CENTER;
    }
    for (const { source, target } of edges) {
      const x = target.x - source.x;
      const y = target.y - source.y;
      const length = Math.sqrt(x * x + y * y) || 1;
      const pull = (SPRING * (length - LENGTH)) / length;
      source.dx += x * pull;
      source.dy += y * pull;
      target.dx -= x * pull;
      target.dy -= y * pull;
    }
    for (const node of nodes) {
      if (!node.held) {
        node.x += node.dx * this.heat;
        node.y += node.dy * this.heat;
      }
      node.dx *= FRICTION;
      node.dy *= FRICTION;
    }
    this.heat *= 0.985;
    return this.heat > 0.02;
  }
}
