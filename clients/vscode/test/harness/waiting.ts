/** Waiting for a condition that no event tells of, with an end. */

const STEP_MS = 50;
const PATIENCE_MS = Number(process.env["LLAMAGENT_PATIENCE_MS"] ?? 90_000);

export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  patience = PATIENCE_MS,
): Promise<void> {
  const end = Date.now() + patience;
  while (!(await condition())) {
    if (Date.now() > end) {
      throw new Error(`waited too long for ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, STEP_MS));
  }
}
