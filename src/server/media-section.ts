/** The settings of the media listener. Source: calls-and-media.md; what it leaves open is chosen here. */
import { deviceListenerSettings, pairedTlsFiles } from './device-listener-settings.ts';
import { section, setting } from './settings-section.ts';
import { bearerKeyList, listenAddress, optionalText, wholeNumber } from './settings-values.ts';

const { tls_cert_file, tls_key_file } = deviceListenerSettings;

export const mediaSection = section({
  listen: setting(listenAddress, '127.0.0.1:8083', 'Where device and bridge legs of calls connect.'),
  advertise: setting(
    optionalText('an origin such as https://media.example:8083'),
    null,
    'By what people reach the media listener, in the links of viewer tickets; nothing: where it listens.',
  ),
  bridge_keys: setting(bearerKeyList(), [], 'Development keys that make a bridge of any application.', true),
  legs_max: setting(
    wholeNumber(1, 1_000_000),
    4000,
    'Legs, idle bridges and viewers connected at once; another is answered 503.',
  ),
  handshakes_max: setting(
    wholeNumber(1, 1_000_000),
    1000,
    'Connections that have not been let in yet, at once.',
  ),
  max_fps: setting(wholeNumber(1, 60), 15, 'Frames per second that a bridge asks the phone for.'),
  tls_cert_file,
  tls_key_file,
}).superRefine(pairedTlsFiles);
