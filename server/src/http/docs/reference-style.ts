import { createHash } from 'node:crypto';

/** The look of the reference page. The policy of the page allows this very text and no other style. */
export const REFERENCE_STYLE = `
:root {
  color-scheme: light dark;
  --paper: #fff; --panel: #f5f6f8; --ink: #1b1f24; --soft: #5a636e; --line: #d9dde3; --link: #0b57c2;
  --get: #0a6b3d; --post: #0b57c2; --put: #8a5300; --delete: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171b; --panel: #1c2026; --ink: #e6e9ed; --soft: #a0a9b4; --line: #343b44; --link: #8ab8ff;
    --get: #6fd39b; --post: #8ab8ff; --put: #f0b866; --delete: #ff9c94;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.55 system-ui, sans-serif; }
a { color: var(--link); }
a:focus-visible, summary:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
code { font: .92em/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
h1, h2, h3, h4 { line-height: 1.25; }
h1 small { color: var(--soft); font-weight: 400; font-size: .6em; }
h3 { margin: 0 0 .4rem; font-size: 1.15rem; }
h4 { margin: 1.2rem 0 .3rem; font-size: .95rem; }
p { margin: .4rem 0; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--paper); padding: .5rem; }
main { padding: 0 1rem 4rem; max-width: 56rem; min-width: 0; }
nav { max-height: 45vh; overflow: auto; padding: .5rem 1rem; background: var(--panel);
  border-bottom: 1px solid var(--line); }
nav h2 { margin: 1rem 0 .2rem; font-size: .9rem; }
nav h2 a { color: var(--ink); text-decoration: none; }
nav ul { margin: 0; padding: 0; list-style: none; }
nav li a { display: flex; gap: .5rem; align-items: baseline; padding: .3rem 0; text-decoration: none;
  font-size: .9rem; }
nav li a:hover span { text-decoration: underline; }
nav .method { flex: 0 0 3.6rem; }
article { margin: 1.5rem 0; padding: 1rem; border: 1px solid var(--line); border-radius: .5rem; }
article:target { border-color: var(--link); }
.here { color: var(--soft); text-decoration: none; font-weight: 400; }
.method { font: 700 .75rem/1.4 ui-monospace, Menlo, Consolas, monospace; color: var(--soft); }
.method.get { color: var(--get); }
.method.post { color: var(--post); }
.method.put, .method.patch { color: var(--put); }
.method.delete { color: var(--delete); }
.call { padding: .4rem .6rem; background: var(--panel); border-radius: .3rem; }
.key, .limits, .type, small { color: var(--soft); font-size: .88rem; font-weight: 400; }
.limits { display: inline-block; }
.required { color: var(--put); font-size: .85rem; }
.deprecated { color: var(--delete); font-size: .85rem; }
.wide { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: .92rem; }
th, td { padding: .4rem .6rem .4rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th small { display: block; }
td p { margin: 0; }
.fields { margin: .3rem 0; padding: 0 0 0 .9rem; border-left: 2px solid var(--line); list-style: none; }
.fields li { padding: .3rem 0; font-size: .95rem; }
.fields p { margin: .1rem 0; }
.fields .name { font-weight: 600; }
.errors { margin: .3rem 0; padding: 0; list-style: none; font-size: .92rem; }
.errors li { display: flex; gap: .6rem; }
.errors p { margin: 0; }
summary { cursor: pointer; color: var(--link); font-size: .88rem; padding: .2rem 0; }
@media (min-width: 60rem) {
  body { display: grid; grid-template-columns: 19rem minmax(0, 1fr); }
  nav { position: sticky; top: 0; height: 100vh; max-height: none; border-bottom: 0;
    border-right: 1px solid var(--line); }
  main { padding: 0 2.5rem 4rem; }
}
`;

/** As a source of the directive `style-src`. */
export const REFERENCE_STYLE_HASH = `sha256-${createHash('sha256').update(REFERENCE_STYLE).digest('base64')}`;
