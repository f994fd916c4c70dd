/** A whole server on real sockets whose time stands still until the test moves it. */
import assert from 'node:assert/strict';
import { OpsClient } from '../../src/cli/admin/ops-client.ts';
import { findOpsToken } from '../../src/gateways/ops/ops-token.ts';
import { DrivenClock } from './driven-clock.ts';
import { startTestServer, type TestServer, type TestServerOptions } from './test-server.ts';

export interface DrivenServer extends TestServer {
  readonly clock: DrivenClock;
}

/** `clock`: of an earlier server, to start again on what it left. Its wall starts with a second of today. */
export async function startDrivenServer(
  options: Omit<TestServerOptions, 'clock'> & { readonly clock?: DrivenClock } = {},
): Promise<DrivenServer> {
  const clock = options.clock ?? new DrivenClock(Math.floor(Date.now() / 1000) * 1000);
  const overrides = ['auth.verification=inline', ...(options.overrides ?? [])];
  const server = await startTestServer({ ...options, overrides, clock });
  return {
    ...server,
    clock,
    halt: () => drain(clock, server.halt()),
    stop: () => drain(clock, server.stop()),
  };
}

/** More than the first step of a drain at the default rate, which ends all that a test has. */
const drainMs = 200;

/** Sessions are ended as time passes; the store is given its own. */
async function drain(clock: DrivenClock, done: Promise<void>): Promise<void> {
  clock.advance(drainMs);
  await done;
}

/** For changes to a running server, as the command line makes them. */
export function opsOf({ ports, dataDirectory }: TestServer): OpsClient {
  return new OpsClient(`http://127.0.0.1:${ports.ops}`, findOpsToken(dataDirectory) ?? '');
}

/** Ends what a test has left of these devices' sessions, and resolves when the log has it: the next test finds nothing of it. */
export async function clearDevices(server: TestServer, deviceIds: readonly string[]): Promise<void> {
  const ops = opsOf(server);
  for (const deviceId of deviceIds) {
    await ops.change('/v1/device/kick', { device_id: deviceId });
    const { json, text } = await server.api.connectivity(deviceId);
    assert.equal(json.code, 0, text);
  }
}

/** The text of its metrics. */
export async function metricsOf({ ports }: Pick<TestServer, 'ports'>): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${ports.ops}/metrics`);
  return answer.text();
}

/** The value of one line of the metrics, by its name and labels as they stand there; null: there is no such line. */
export function metric(text: string, name: string): number | null {
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return line === undefined ? null : Number(line.slice(name.length + 1));
}
