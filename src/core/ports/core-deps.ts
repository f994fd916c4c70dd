/** Ports that nearly every use case needs. */
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import type { RegistryReader } from './registry-reader.ts';

export interface CoreDeps {
  readonly clock: Clock;
  readonly registry: RegistryReader;
  readonly log: Log;
}
