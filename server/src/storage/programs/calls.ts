import type { Program } from './program.ts';

/**
 * A table of operations is an interface: it has a method for each operation, from its input to its result. Its programs
 * and the calls of other rooms are derived from it by type. A call finds its program by name, in this thread or in
 * another.
 */

/** A program for each operation. */
export type Programs<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends (...input: infer Input) => infer Result
    ? (...input: Input) => Program<Result>
    : never;
};

/** A call for each operation. `Given` are arguments that precede its input, for example the project. */
export type Calls<Table, Given extends unknown[] = []> = {
  [Name in keyof Table]: Table[Name] extends (...input: infer Input) => infer Result
    ? (...input: [...Given, ...Input]) => Promise<Result>
    : never;
};

type OfProject<Table> = Calls<Table, [projectId: number]>;
type AnyProgram = (...input: never[]) => Program<unknown>;

/** Calls on an open state. */
export const callsOfState = <Table>(
  programs: Programs<Table>,
  perform: <Result>(program: Program<Result>) => Promise<Result>,
): Calls<Table> =>
  mapTable(
    programs,
    (program: AnyProgram) =>
      (...input: never[]) =>
        perform(program(...input)),
  ) as Calls<Table>;

/** Calls on the catalogs of projects. */
export const callsOfProject = <Table>(
  programs: Programs<Table>,
  perform: <Result>(projectId: number, program: Program<Result>) => Promise<Result>,
): OfProject<Table> =>
  mapTable(
    programs,
    (program: AnyProgram) =>
      (projectId: number, ...input: never[]) =>
        perform(projectId, program(...input)),
  ) as OfProject<Table>;

/** Calls on threads, which serve the operations by the same names. `names` is any object with those keys. */
export const callsOfThreads = <Table>(
  names: { readonly [Name in keyof Table]: unknown },
  call: (name: keyof Table & string, projectId: number, input: never) => Promise<unknown>,
): OfProject<Table> =>
  mapTable(
    names,
    (_: unknown, name) => (projectId: number, input: never) =>
      call(name as keyof Table & string, projectId, input),
  ) as OfProject<Table>;

/** @returns an object with the keys of a table, each with what `make` returns for its entry */
export const mapTable = <Entry, Made>(
  table: object,
  make: (entry: Entry, name: string) => Made,
): Record<string, Made> =>
  Object.fromEntries(Object.entries(table).map(([name, entry]) => [name, make(entry as Entry, name)]));
