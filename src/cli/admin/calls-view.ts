/** Live calls as text for people. Ids of devices and rooms come from outside, so control characters are escaped. */
import type { CallJson, MediaProcessJson } from '../../gateways/admin/call-routes.ts';
import { ageInWords } from '../shell/option-values.ts';
import { alignColumns } from '../shell/output.ts';
import { showable } from '../../lib/showable-text.ts';

export function callsTable(calls: readonly CallJson[], nowMs: number): string {
  if (calls.length === 0) return 'no live calls';
  const heading = ['SESSION', 'DEVICE', 'ROOM', 'STATE', 'ISSUED', 'CONNECTED', 'MEDIA'];
  const rows = calls.map((call) => [
    call.session,
    showable(call.device_id),
    showable(call.room_id),
    call.state,
    ageInWords(Date.parse(call.created_at), nowMs),
    legsInWords(call),
    mediaInWords(call.media),
  ]);
  return alignColumns([heading, ...rows]);
}

const waits = { bridge: 'waits for a bridge', load: 'waits for load to fall', engine: 'waits for a decoder' };

function legsInWords({ legs, waits_for: waitsFor }: CallJson): string {
  const connected = [...(legs.device ? ['device'] : []), ...(legs.bridge ? ['bridge'] : [])];
  if (connected.length === 0) connected.push('nobody');
  return [...connected, ...(waitsFor === null ? [] : [waits[waitsFor]])].join(', ');
}

/** The media processes and their workers. */
export function capacityTable(capacity: readonly MediaProcessJson[]): string {
  if (capacity.length === 0) return 'no media process is there at the moment';
  const heading = ['PROCESS', 'LISTENS', 'WORKER', 'BUSY', 'TAKEN', 'CALLS', 'ROOM FOR'];
  const rows = capacity.flatMap(({ process, address, sessions, room, workers }) => [
    [process, address, 'all', '', '', sessions, room],
    ...workers.map((worker, n) => ['', '', n, percent(worker.busy), percent(worker.taken), '', worker.room]),
  ]);
  return alignColumns([heading, ...rows]);
}

function percent(share: number): string {
  return `${Math.round(share * 100)}%`;
}

function mediaInWords(media: CallJson['media']): string {
  const { screen_width: width, screen_height: height } = media;
  if (media.no_video) return `audio only, ${media.down_audio_mt}`;
  const screen = width === null || height === null ? '' : ` ${media.video_res_mode} ${width}×${height}`;
  return `${media.up_video_mt} up, ${media.down_video_mt} down${screen}, ${media.down_audio_mt}`;
}
