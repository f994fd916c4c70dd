/**
 * Counts wrong credentials at the ops listener and logs the first within a minute, so that guessing is visible but cannot fill
 * the log. Requests without a credential are not counted.
 */
import type { Clock } from '../../lib/clock.ts';
import { refusalLogMs } from '../../model/limits.ts';
import type { Log } from '../../lib/log.ts';
import { RefusalLine } from '../../lib/throttle.ts';
import type { OpsCredentialLabel, Telemetry } from '../../telemetry/telemetry.ts';

export interface RefusedCredentialsDeps {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: Pick<Log, 'warn'>;
  readonly telemetry: Pick<Telemetry, 'opsAuthFailure'>;
}

export class RefusedCredentials {
  readonly #telemetry: RefusedCredentialsDeps['telemetry'];
  readonly #line: RefusalLine;

  constructor({ clock, log, telemetry }: RefusedCredentialsDeps) {
    this.#telemetry = telemetry;
    this.#line = new RefusalLine(clock, log, 'wrong credential refused at the ops listener', refusalLogMs);
  }

  record(credential: OpsCredentialLabel, from: string): void {
    this.#telemetry.opsAuthFailure(credential);
    this.#line.record(() => ({ credential, from }));
  }
}
