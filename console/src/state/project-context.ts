import type { ManagedProject } from '@relata/client';
import { createContext } from 'react';

/** The project of the present view; undefined: it belongs to none. */
export const ProjectContext = createContext<ManagedProject | undefined>(undefined);
