/** The parts of the server that the API's handlers call. */
import type { CallEndDeps } from '../../core/calls/end-call.ts';
import type { CallCredentialsDeps } from '../../core/calls/issue-call-credentials.ts';
import type { CallStatusDeps } from '../../core/calls/query-call-status.ts';
import type { DeviceList } from '../../core/devices/list-devices.ts';
import type { ConnectivityDeps } from '../../core/devices/query-connectivity.ts';
import type { ConnectivityBatchDeps } from '../../core/devices/query-connectivity-batch.ts';
import type { ApplicationLimit } from '../../core/devices/request-limits.ts';
import type { ReadEventsDeps } from '../../core/events/read-events.ts';
import type { WakingDeps } from '../../core/messages/send-waking-message.ts';
import type { AnsweredWakeups } from '../../core/wakeups/answered-wakeups.ts';
import type { WakeupDeps } from '../../core/wakeups/do-wakeup.ts';
import type { WakeupOutcomeDeps } from '../../core/wakeups/query-wakeup-outcome.ts';
import type { Provision } from '../../model/provisioning.ts';
import type { MixedFormats } from '../../protocol/rest/call-media.ts';

export type LimitName = 'queries' | 'messages' | 'eventReads' | 'issuances' | 'callEnds' | 'provisionings';

export interface ApiServices {
  /** Null: no limit. */
  readonly limits: Readonly<Record<LimitName, ApplicationLimit | null>>;
  readonly connectivity: ConnectivityDeps;
  readonly batches: ConnectivityBatchDeps;
  readonly wakeups: WakeupDeps;
  readonly answeredWakeups: AnsweredWakeups;
  readonly outcomes: WakeupOutcomeDeps;
  readonly messages: WakingDeps;
  readonly events: ReadEventsDeps;
  readonly calls: CallStatusDeps & CallCredentialsDeps;
  /** True: the two directions of a call may use different video formats. */
  readonly mixedFormats: MixedFormats;
  readonly callEnds: CallEndDeps;
  readonly devices: Pick<DeviceList, 'read'>;
  readonly provision: Provision;
}
