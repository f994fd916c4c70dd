/** The style of the page that shows a call: dark, since it is mostly looked at by night. */

export const watchStyle = `
:root {
  color-scheme: dark; --ground: #0d1117; --raised: #151b23; --line: #2a323d; --text: #d5dce5;
  --faint: #8b97a6; --good: #57c98a; --bad: #ff9f43; --accent: #6cb6ff;
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body {
  max-width: 1240px; margin: 0 auto; padding: 20px 24px; background: var(--ground);
  color: var(--text); font: 15px/1.5 system-ui, sans-serif;
}
h1 { margin: 0; font-size: 22px; font-weight: 600; overflow-wrap: anywhere; }
h2 { margin: 0; font-size: 16px; font-weight: 600; }
code, pre, td.count, dd { font-family: ui-monospace, 'DejaVu Sans Mono', monospace; }
header { display: grid; grid-template-columns: 1fr auto; gap: 0 20px; align-items: center; }
.names { margin: 2px 0 0; color: var(--faint); font-size: 13px; overflow-wrap: anywhere; }
.chips { display: flex; flex-wrap: wrap; gap: 8px; margin: 0; padding: 0; list-style: none; }
.chips li {
  padding: 2px 12px; border: 1px solid var(--line); border-radius: 999px; color: var(--faint);
}
.chips li:first-child { border-color: var(--accent); color: var(--accent); }
.chips li.good { border-color: var(--good); color: var(--good); }
.chips .tool { padding: 0; border: 0; }
button {
  padding: 2px 14px; border: 1px solid var(--accent); border-radius: 999px; background: none;
  color: var(--accent); font: inherit; cursor: pointer;
}
button[aria-pressed='true'] { background: var(--accent); color: var(--ground); }
button:disabled { border-color: var(--line); color: var(--faint); cursor: default; }
button:focus-visible { outline: 2px solid var(--text); outline-offset: 2px; }
.news { grid-column: 1 / -1; min-height: 24px; margin: 4px 0; color: var(--bad); }
.pair {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 480px), 1fr)); gap: 16px;
  margin-bottom: 16px;
}
figure, section {
  margin: 0; padding: 14px 16px; border: 1px solid var(--line); border-radius: 10px;
  background: var(--raised);
}
figure { display: flex; flex-direction: column; }
figcaption { display: flex; flex-wrap: wrap; gap: 0 10px; align-items: baseline; }
figcaption span, .meaning { color: var(--faint); font: 13px/1.5 system-ui, sans-serif; }
.stage {
  display: grid; flex: 1; place-items: center; min-height: 360px; margin: 10px 0; overflow: auto;
}
.stage > .shown { display: grid; place-items: center; }
.stage > .shown > * { max-width: 100%; height: auto; max-height: 360px; }
.device {
  padding: 14px; border: 1px solid #3a4452; border-radius: 18px;
  background: linear-gradient(160deg, #2b333e, #171c23); box-shadow: 0 8px 24px #0008;
}
.screen { display: grid; place-items: center; background: #000; overflow: hidden; }
.screen > * { max-width: 100%; max-height: 100%; image-rendering: pixelated; }
.over .shown { filter: grayscale(1) brightness(0.5); }
.missing { margin: 0 0 8px; color: var(--bad); text-align: center; }
dl { display: grid; gap: 8px 16px; margin: 0; }
.stream { grid-template-columns: repeat(auto-fit, minmax(90px, 1fr)); }
.figures { grid-template-columns: repeat(auto-fit, minmax(210px, 1fr)); margin-top: 10px; }
dt { color: var(--faint); font-size: 13px; }
dd { margin: 0; font-size: 16px; white-space: nowrap; }
dd.meaning { white-space: normal; }
.total { margin-left: 8px; white-space: nowrap; color: var(--faint); font-weight: 400; }
.total.bad { color: var(--bad); font-weight: 600; }
table { margin-top: 6px; border-collapse: collapse; }
th, td { padding: 3px 20px 3px 0; font-weight: 400; text-align: left; }
thead th { color: var(--faint); font-size: 13px; }
th.count, td.count { text-align: right; }
td.count { vertical-align: top; }
tr.drop th, tr.drop .count { color: var(--bad); font-weight: 600; }
tr.spared th, tr.spared .count { color: var(--faint); }
@media (max-width: 640px) {
  body { padding: 14px; }
  header { grid-template-columns: 1fr; gap: 10px; }
  figure, section { padding: 12px; }
  .stage { min-height: 0; }
  .device { padding: 10px; }
  .stream { grid-template-columns: 1fr 1fr; }
  .figures { grid-template-columns: 1fr; }
  th, td { padding-right: 10px; }
}
.refusal { max-width: 560px; margin: 12vh auto; }
.refusal pre {
  padding: 12px 16px; border: 1px solid var(--line); border-radius: 8px; background: var(--raised);
}
`;
