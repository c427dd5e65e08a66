import { type Static, type TSchema, Type } from 'typebox';
import type { Catalog } from '../catalog/catalog.ts';
import type { Access, ChosenProject } from '../kernel/caller.ts';
import type { Relations } from '../relations/relations.ts';
import type { Tasks } from '../tasks/tasks.ts';

/** What tools read: nothing that changes a catalog is one. */
export interface ToolParts {
  readonly catalog: Catalog;
  readonly relations: Relations;
  readonly tasks: Tasks;
}

/** Who asks, and about which project. */
export interface Asking extends ToolParts {
  readonly project: ChosenProject;
  readonly access: Access;
  readonly signal: AbortSignal;
  /** Counts a look through the whole catalog. @throws too_many_looks */
  countLook(): void;
}

/** A tool of an agent, with what it takes and answers. Source: docs/interface.md §15. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly access: Access;
  readonly input: TSchema;
  readonly output: TSchema;
  answer(asking: Asking, input: never): Promise<object>;
}

/** What schemas of several tools have. */
export const Identifier = Type.String({ minLength: 1, maxLength: 255 });
export const NextOffset = Type.Union([Type.Integer(), Type.Null()], {
  description: 'send it as offset for more; null: this is all',
});
export const closed = { additionalProperties: false };

export const defineTool = <Input extends TSchema, Output extends TSchema>(
  tool: Omit<Tool, 'access' | 'answer'> & {
    readonly access?: Access;
    readonly input: Input;
    readonly output: Output;
    answer(asking: Asking, input: Static<Input>): Promise<NoInfer<Static<Output>>>;
  },
): Tool => ({ access: 'read', ...tool }) as Tool;
