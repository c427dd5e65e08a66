import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { holdsMoreThan } from '../../kernel/json-scan.ts';

/** How bodies and parameters alike are checked. */
export const CHECKS = { useDefaults: true, strict: false, removeAdditional: false } as const;
/** A body of up to so many values is told all its mistakes, which may be several a value; a larger one is told the first. */
const SMALL_BODY_VALUES = 2_000;

export interface BodyCheck {
  (body: unknown): boolean;
  errors?: ErrorObject[] | null;
}

/** Of a body whose kind a field names, mistakes are told of that kind alone. */
export function createBodyChecks(): (schema: object) => BodyCheck {
  const shared = { ...CHECKS, discriminator: true, verbose: true };
  const all = new Ajv({ ...shared, allErrors: true });
  const first = new Ajv(shared);
  return (schema) => {
    // Many routes get no body in the life of a process, and most no large one; compiling takes some milliseconds.
    let lists: ValidateFunction | undefined;
    let stops: ValidateFunction | undefined;
    const listsAll = () => {
      lists ??= all.compile(schema);
      return lists;
    };
    const stopsAtFirst = () => {
      stops ??= first.compile(schema);
      return stops;
    };
    const check: BodyCheck = (body) => {
      const validate = holdsMoreThan(SMALL_BODY_VALUES, body) ? stopsAtFirst() : listsAll();
      const passes = validate(body);
      check.errors = validate.errors ?? null;
      return passes;
    };
    return check;
  };
}
