/**
 * Wrong credentials at the ops listener: each is counted, and the first within a minute is a line of the log, so that guesses are
 * seen and cannot fill the log. A request without a credential is neither.
 */
import type { Clock } from '../../lib/clock.ts';
import { opsRefusalLogMs } from '../../model/limits.ts';
import type { Log } from '../../lib/log.ts';
import { Throttle } from '../../lib/throttle.ts';
import type { OpsCredentialLabel, Telemetry } from '../../telemetry/telemetry.ts';

export interface RefusedCredentialsDeps {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: Pick<Log, 'warn'>;
  readonly telemetry: Pick<Telemetry, 'opsAuthFailure'>;
}

export class RefusedCredentials {
  readonly #deps: RefusedCredentialsDeps;
  readonly #lines: Throttle;
  #unlogged = 0;

  constructor(deps: RefusedCredentialsDeps) {
    this.#deps = deps;
    this.#lines = new Throttle(deps.clock, opsRefusalLogMs);
  }

  /** `from`: remote address. */
  record(credential: OpsCredentialLabel, from: string): void {
    const { log, telemetry } = this.#deps;
    telemetry.opsAuthFailure(credential);
    this.#unlogged += 1;
    if (!this.#lines.pass()) return;
    log.warn({ credential, from, refused: this.#unlogged }, 'wrong credential refused at the ops listener');
    this.#unlogged = 0;
  }
}
