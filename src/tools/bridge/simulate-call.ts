/** `reveille simulate --call`: issues a call of one device and holds it, to be listed and watched. */
import { withApi, type ApiOptions } from '../../cli/api/api-access.ts';
import { CommandError, usageError } from '../../cli/shell/command-error.ts';
import { untilInterrupted, type CommandContext } from '../../cli/shell/command-context.ts';
import type { ReveilleClient } from '../../client/reveille-client.ts';
import { downlinkAudioFormats, type DownlinkAudioFormat } from '../../model/call.ts';
import { codeTexts } from '../../model/codes.ts';
import { showable } from '../../lib/showable-text.ts';
import { mediaTrust } from '../simulator/server-urls.ts';
import { sessionOf, simulatedRoom, simulatedSound, type RoomMedia } from '../simulator/simulated-room.ts';
import { CallReport } from './call-report.ts';
import { runCall, type IssuedCall } from './held-call.ts';
import { filmOpener, findEngine, type PlayOptions } from './simulate-bridge.ts';

export interface SimulateCallOptions extends PlayOptions, ApiOptions {}

/** A small landscape screen and a portrait phone show how pictures are fitted. */
const screen: RoomMedia = {
  down_video_mt: 'mjpeg',
  video_res_mode: 'fit_screen',
  screen_width: 320,
  screen_height: 240,
};

/** Exits 1 if the call was never connected. */
export async function simulateCall(
  context: CommandContext,
  deviceId: string,
  options: SimulateCallOptions,
): Promise<void> {
  const { uplink = null, uplinkAudio = null, film, duration = Infinity } = options;
  const { video: deviceSends = null } = options;
  const sound = soundFormat(options.audio);
  const engine = await findEngine(context);
  const openFilm = filmOpener(engine, film);
  const need = { permissions: ['call:issue'], deviceId } as const;
  await withApi(context, options, need, async (api, trust) => {
    const report = new CallReport(context, ['bridge', 'device']);
    const issued = await issueCall(context, api, deviceId, {
      ...(engine === null ? { no_video: true } : screen),
      ...(engine !== null && deviceSends !== null && { up_video_mt: deviceSends }),
      ...(sound !== null && { down_audio_mt: sound }),
    });
    const tls = mediaTrust(context, options.url ?? context.profile?.api, trust);
    report.step('call', `issued, session ${issued.session}`, { session: issued.session });
    const deps = {
      context,
      report,
      engine,
      openFilm,
      bridgeKey: options.key ?? (options.url === undefined ? undefined : null),
      deviceSends,
      deviceSpeaks: sound === null ? null : { format: sound, ...simulatedSound },
      uplink: { video: uplink, audio: uplinkAudio },
    };
    await untilInterrupted((signal) => runCall(deps, { deviceId, tls, ...issued }, duration, signal));
    if (!report.hasConnected) process.exitCode = 1;
  });
}

function soundFormat(audio: PlayOptions['audio']): DownlinkAudioFormat | null {
  const format = downlinkAudioFormats.find((one) => one === audio) ?? null;
  if (audio !== undefined && format === null)
    throw usageError(`--audio ${audio}: a device supports ${downlinkAudioFormats.join(', ')}`);
  return format;
}

async function issueCall(
  { output }: CommandContext,
  api: ReveilleClient,
  deviceId: string,
  media: RoomMedia,
): Promise<Pick<IssuedCall, 'session' | 'token' | 'url'>> {
  const result = await api.issueCallCredentials({
    ...simulatedRoom('simulated', media),
    device_id: deviceId,
  });
  if (!result.ok)
    throw new CommandError(`no call is issued for ${showable(deviceId)}: ${result.message} (${result.code})`);
  if (result.message !== codeTexts[0]) output.remark(result.message);
  const { peer_id: peerId, token, media_url: url } = result.data;
  if (url !== undefined) return { session: sessionOf(peerId), token, url };
  throw new CommandError('the server does not know its media listener', 'set media.advertise');
}
