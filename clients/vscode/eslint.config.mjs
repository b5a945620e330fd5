/** Types are checked by tsc in strict mode; this looks for what the types allow and should not be. */
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["dist", "bundled", "media/panel.js", "test-out", "**/*.mjs"] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: { project: ["./tsconfig.json", "./tsconfig.webview.json"], tsconfigRootDir: import.meta.dirname },
    },
    rules: { "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }] },
  },
);
