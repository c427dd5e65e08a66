import type { Machine } from './machine.ts';
import { describeFigure, describeTarget, type Figure, judge } from './measurement.ts';

/** The result of one measurement. */
export interface MeasuredFigures {
  readonly name: string;
  readonly title: string;
  /** ISO 8601. */
  readonly measuredAt: string;
  readonly conditions?: string;
  readonly seconds: number;
  /**
   * The share of the processors, from 0 to 1, that other work on the machine used. Undefined if the rounds are those of
   * another measurement.
   */
  readonly others?: number | undefined;
  readonly figures: readonly Figure[];
}

export interface Results {
  readonly machine: Machine;
  readonly isQuick: boolean;
  readonly measured: readonly MeasuredFigures[];
}

const HEAD = ['Figure', 'Target', 'Measured', '', 'Absolute'];

/** The page next to the figures in the repository. */
export function describeResults(results: Results): string {
  const { machine, measured } = results;
  return `# Results of the benchmarks

Made by \`npm run bench${results.isQuick ? ' -- --quick' : ''}\`. A figure is a ratio of things that were measured in turn in
the same run: the median of the rounds, with the smallest and the largest in brackets. Absolute numbers hold for this
machine and this hour only.

| Machine | |
|---|---|
| Processor | ${machine.cpu}, ${machine.cores} cores |
| Memory | ${machine.memoryGib} GiB |
| System | ${machine.system} |
| Node | ${machine.node} |

${measured.map(describeMeasured).join('\n')}`;
}

function describeMeasured({
  name,
  title,
  measuredAt,
  conditions,
  seconds,
  others,
  figures,
}: MeasuredFigures): string {
  const rows = figures.map((figure) => `| ${columnsOf(figure).join(' | ')} |\n`).join('');
  return `## ${title}

\`npm run bench -- ${name}\`, ${measuredAt.slice(0, 10)}, ${Math.round(seconds)} s; ${describeOthers(others)}.
${conditions === undefined ? '' : `\n${conditions}\n`}
| ${HEAD.join(' | ')} |
|${HEAD.map(() => '---|').join('')}
${rows}`;
}

const describeOthers = (share: number | undefined) =>
  share === undefined
    ? 'from the rounds of a measurement before'
    : `other work took ${Math.round(share * 100)} % of the processors`;

function columnsOf(figure: Figure): string[] {
  return [figure.name, describeTarget(figure), describeFigure(figure), judge(figure), figure.absolute ?? ''];
}

/** The same for a terminal. */
export function describeTable({ title, conditions, others, figures }: MeasuredFigures): string {
  const rows = figures.map((figure) => columnsOf(figure).slice(0, 4));
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = figures.map((figure, at) => {
    const cells = rows[at]?.map((cell, column) => cell.padEnd(widths[column] ?? 0)) ?? [];
    return `  ${cells.join('  ').trimEnd()}${figure.absolute ? `\n      ${figure.absolute}` : ''}`;
  });
  const head = `${title} (${describeOthers(others)})`;
  return `${[head, ...(conditions === undefined ? [] : [conditions]), ...lines].join('\n')}\n`;
}
