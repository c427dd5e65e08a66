/** The requirements of a release, and the facts in its files. */

const VERSION = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/;

export interface State {
  /** The output of `git status --porcelain`. */
  readonly changes: string;
  readonly tags: readonly string[];
  /** By the path of a package.json. */
  readonly versions: Readonly<Record<string, string>>;
  readonly changelog: string;
  /** Files of this version that are kept for the tests of later versions. */
  readonly kept: readonly string[];
}

/** Stores that later versions have to open, and the program beside which the next version has to run. */
const KEPT = ['embedded.json.gz', 'postgres.json.gz', 'program.json.br'];

/** @returns the faults, one per line. None if the version can be released. */
export function findProblems({ changes, tags, versions, changelog, kept }: State): string[] {
  const version = versions['package.json'] ?? '';
  const others = Object.entries(versions).filter(([, one]) => one !== version);
  return [
    ...(changes === '' ? [] : ['the tree is not clean: commit or stash first']),
    ...(VERSION.test(version) ? [] : [`package.json has no version: ${version}`]),
    ...others.map(([path, one]) => `${path} has version ${one}, package.json ${version}`),
    ...(tags.includes(`v${version}`) ? [`v${version} is tagged already: raise the version`] : []),
    ...KEPT.filter((name) => !kept.includes(name)).map(
      (name) => `${name} of ${version} is not kept: make it (CONTRIBUTING.md, "Releases")`,
    ),
    ...(readSection(changelog, 'Unreleased') === '' ? ['CHANGELOG.md says nothing under [Unreleased]'] : []),
    ...(readSection(changelog, version) === '' ? [] : [`CHANGELOG.md has a section [${version}] already`]),
  ];
}

/** @returns the text below a heading of the changelog */
function readSection(changelog: string, name: string): string {
  const section = changelog.split(/^## /m).find((one) => one.startsWith(`[${name}]`)) ?? '';
  return section.slice(section.indexOf('\n') + 1).trim();
}

/** @returns the changelog with the unreleased lines under the version */
export const nameSection = (changelog: string, version: string, day: string): string =>
  changelog.replace('## [Unreleased]\n', `## [Unreleased]\n\n## [${version}] - ${day}\n`);

export interface Component {
  readonly name: string;
  readonly version: string;
  readonly group?: string;
}

/** @returns the packages that are included, by the headings of the licences, and the Node that comes with them */
export function keepShipped<Part extends Component>(components: readonly Part[], licences: string): Part[] {
  const shipped = new Set([...licences.matchAll(/^## (\S+ \S+) \(/gm)].map(([, name]) => name));
  return components.filter(
    ({ name, version }) =>
      shipped.has(`${name} ${version}`) || /^node-(?:bin-)?(?:darwin|linux|win)-/.test(name),
  );
}
