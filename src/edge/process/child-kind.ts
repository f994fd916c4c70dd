/** An edge as a child of its machine's supervisor: the values that pass between them. */
import type { SleepSettings } from '../settings.ts';

export interface EdgeChildKind {
  readonly task: {
    /** Unique among the edges of the core. */
    readonly name: string;
    readonly sleep: SleepSettings;
    /** The Unix socket, or the named pipe, of the core. */
    readonly corePath: string;
  };
  /** It connects to its core, which knows the rest. */
  readonly ready: object;
  readonly order: never;
  readonly report: never;
}
