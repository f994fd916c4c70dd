/** What the process that floods can be asked. */
import type { FloodTargets } from '../../test/support/floods.ts';

export const floodService = 'flood';

export interface FloodPlan {
  /** Of `floodKinds`. */
  readonly name: string;
  readonly targets: FloodTargets;
  /** At once; each is made again as soon as the server has closed it. */
  readonly connections: number;
  readonly seconds: number;
}

export interface FloodReading {
  readonly bytes: number;
  /** Connections that the server closed, and that it would not have. */
  readonly closed: number;
  readonly refused: number;
}

export type FloodProtocol = { flood: { take: FloodPlan; give: FloodReading } };
