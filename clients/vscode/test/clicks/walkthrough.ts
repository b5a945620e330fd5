/** The first minute: the walkthrough, and that its steps know what is there. */

import { scene } from "./shared";

describe("the walkthrough", () => {
  it("opens, ticks what is there, and its last step asks the first question", async () => {
    const at = await scene({ replies: [{ content: "A folder of tests." }] });
    await at.command("Welcome: Open Walkthrough");
    await at.quickInput.fill("The first minute with llamagent");
    await at.quickRow("The first minute with llamagent").click();
    const steps = at.page.locator(".getting-started-step");
    await steps.first().waitFor();
    for (const step of ["The daemon runs", "A model is there"]) {
      const row = at.page.locator(".getting-started-step", { hasText: step });
      await row.locator(".codicon-getting-started-step-checked.complete").waitFor();
    }
    await at.page.locator(".getting-started-step", { hasText: "The first ask" }).click();
    await at.page.getByRole("button", { name: "Try it: what is in this folder?" }).click();
    // Its pages are web views too: with them away, the panel is the only one.
    await at.page.locator(".tabs-container .tab.active .tab-actions a.action-label").click();
    await at.page.locator(".getting-started-step").first().waitFor({ state: "detached" });
    await at.shows("What is in this folder?");
    await at.shows("A folder of tests.");
  });
});
