/** An edge as a child of its supervisor: the values sent between them. */
import type { SleepSettings } from '../settings.ts';

export interface EdgeChildKind {
  readonly task: {
    readonly name: string;
    readonly sleep: SleepSettings;
    /** Unix socket or named pipe of the core. */
    readonly corePath: string;
  };
  /** Empty: the core receives the rest over the link. */
  readonly ready: object;
  readonly order: never;
  readonly report: never;
}
