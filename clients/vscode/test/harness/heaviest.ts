/** What a CPU profile says: the functions with the most time of their own. */

export interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples?: number[] | undefined;
  timeDeltas?: number[] | undefined;
}

/** One line each, in ms; those of the extension are marked. */
export function heaviest({ nodes, samples = [], timeDeltas = [] }: Profile): string[] {
  const times = new Map<string, number>();
  const byId = new Map(nodes.map((node) => [node.id, node.callFrame]));
  samples.forEach((id, index) => {
    const { functionName, url, lineNumber } = byId.get(id) ?? { functionName: "?", url: "", lineNumber: 0 };
    const place = url.includes("vscode/dist/extension.js") ? "OURS " : "";
    const name = `${place}${functionName || "(anonymous)"} ${url.split("/").slice(-2).join("/")}:${String(lineNumber)}`;
    times.set(name, (times.get(name) ?? 0) + (timeDeltas[index] ?? 0) / 1000);
  });
  return [...times]
    .sort(([, a], [, b]) => b - a)
    .slice(0, 25)
    .map(([name, time]) => `${time.toFixed(0).padStart(6)} ms  ${name}`);
}
