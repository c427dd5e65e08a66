import { createContext, type ReactNode, useContext } from 'react';
import { useRights } from '../../state/session.tsx';

const LockedContext = createContext(false);

/** Whether what stands here is to be read alone. */
export const useLocked = (): boolean => useContext(LockedContext);

/** Fields of something that is stored: who may not save it reads it, without a field to type into. */
export function Fields({ children }: { children: ReactNode }) {
  const { canChange } = useRights();
  return (
    <LockedContext value={!canChange}>
      <fieldset className="stack wide locks" disabled={!canChange}>
        {children}
      </fieldset>
    </LockedContext>
  );
}
