/**
 * Brings a controller's report of what woke it to the member that watches the wakeup: this member, or another, which knows of the
 * controller's login a moment after this one and is notified then. Source: signal-wire.md (wake_report); cluster.md.
 */
import type { WakeupWatch } from './wakeup-watch.ts';
import type { Clock } from '../../lib/clock.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import { wakeReportHopMs } from '../../model/limits.ts';
import type { WakeReport } from '../../model/signal.ts';
import type { ClusterDeps } from '../devices/locate-device.ts';

interface ReportDeps {
  readonly clock: Clock;
  readonly watch: Pick<WakeupWatch, 'reported'>;
  readonly cluster: { readonly peers: Pick<ClusterDeps['peers'], 'notify'> } | null;
}

export function reportWake(
  { clock, watch, cluster }: ReportDeps,
  deviceId: DeviceId,
  session: SessionId,
  report: WakeReport,
): void {
  watch.reported(deviceId, session, report);
  if (cluster === null) return;
  const notice = { kind: 'wake-reported', deviceId, session, report } as const;
  clock.after(wakeReportHopMs, () => cluster.peers.notify('everybody', notice));
}
