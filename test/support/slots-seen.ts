/** Who has a device's slots, as the members of a site see it, in the words of the suites. */
import assert from 'node:assert/strict';
import type { ConnectionKind, SharedConnection } from '../../src/model/cluster.ts';
import type { DeviceId } from '../../src/model/ids.ts';
import type { RecordsSite, SiteMember } from './records-site.ts';
import type { Ending } from './temporary-store.ts';

export type MakeSite = (t: Ending, members: number) => Promise<RecordsSite>;

export const seatedDevice = 'a\0device of {any} form' as DeviceId;
export const slotWaitMs = 10_000;

export function memberOf(site: RecordsSite, number: number): SiteMember {
  return site.members[number] ?? assert.fail('so many were started');
}

export async function rowOf(
  member: SiteMember,
  kind: ConnectionKind,
  of = seatedDevice,
): Promise<SharedConnection> {
  return (await member.locator.find(of, slotWaitMs))[kind];
}

export const sessionsIn = ({ slots }: SharedConnection): string[] => slots.map(({ session }) => session);

/** `device.signal.online s1 1 replaced`, as this member reads them. */
export function wordsOf({ events }: SiteMember): string[] {
  return events.map(({ type, epoch, data }) => {
    const words = [type, 'session' in data ? data.session : '', epoch];
    if ('replaced' in data && data.replaced) words.push('replaced');
    if ('reason' in data) words.push(data.reason);
    return words.join(' ');
  });
}

/** One after the other, each when the one before is known to all. */
export async function logIn(
  site: RecordsSite,
  kind: ConnectionKind,
  logins: readonly (readonly [member: number, session: string])[],
): Promise<void> {
  for (const [number, session] of logins) {
    memberOf(site, number).login(kind, seatedDevice, session, Date.now());
    await site.settled();
  }
}
