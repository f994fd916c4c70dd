/**
 * The part of the watch page's script that opens the pictures and the sound of a call, and opens them again when they are
 * gone: by WebRTC, or where that cannot be had as two streams of MJPEG, without sound.
 */

export const stageScript = `
const openEveryAsks = 5;
const unseenAsksMax = 2;

const stages = [...document.querySelectorAll('[data-stage]')].map((stage) => ({
  name: stage.dataset.stage,
  stage,
  image: stage.querySelector('img'),
  video: stage.querySelector('video'),
  canvas: stage.querySelector('canvas'),
  draw: pictureDrawer(stage.querySelector('canvas')),
}));
const audio = document.querySelector('audio');
const soundButton = document.querySelector('[data-sound]');

/* Null: no connection by WebRTC. */
let live = null;
/* Streams of MJPEG that are not open; of no meaning while there is a connection by WebRTC. */
const missing = new Set(stages.map(({ name }) => name));
let isOpening = false;
let isOver = false;
let unseenAsks = 0;
let asksSinceOpened = openEveryAsks;
for (const { name, image } of stages) image.addEventListener('error', () => missing.add(name));

function openWhenDue() {
  asksSinceOpened += 1;
  const isOpen = live !== null || (stages.length > 0 && missing.size === 0);
  if (isOpen || isOpening || asksSinceOpened <= openEveryAsks) return;
  asksSinceOpened = 0;
  isOpening = true;
  void openCall()
    .catch(() => undefined)
    .finally(() => (isOpening = false));
}

async function openCall() {
  live = await openLiveNow();
  if (isOver) closePictures();
  else if (live === null) await openStreams();
  else beginLive();
}

async function openLiveNow() {
  const answer = await ask('/watch/live');
  if (!answer.ok) return null;
  const { link } = await answer.json();
  return openLive(link, {
    track: takeTrack,
    picture: (name, jpeg) => stages.find((stage) => stage.name === name)?.draw(jpeg),
    gone: lose,
  });
}

async function openStreams() {
  const answer = await ask('/watch/pictures');
  if (!answer.ok) return;
  const links = await answer.json();
  for (const { name, image } of stages) {
    if (!missing.has(name)) continue;
    image.src = links[name];
    missing.delete(name);
  }
  unseenAsks = 0;
}

/* One video for both, where the device takes it as it comes. */
function takeTrack(track) {
  const stream = new MediaStream([track]);
  if (track.kind === 'audio') audio.srcObject = stream;
  else for (const { video } of stages) video.srcObject = stream;
}

function beginLive() {
  unseenAsks = 0;
  for (const { image } of stages) image.removeAttribute('src');
  soundButton.disabled = false;
  if (isHeard()) live.hear(true);
}

/* All of it: it is opened again at once. */
function lose() {
  live?.close();
  live = null;
  for (const { name } of stages) missing.add(name);
  asksSinceOpened = openEveryAsks;
  soundButton.disabled = true;
}

const isHeard = () => soundButton.getAttribute('aria-pressed') === 'true';

soundButton.addEventListener('click', () => {
  const isOn = !isHeard();
  soundButton.setAttribute('aria-pressed', String(isOn));
  audio.muted = !isOn;
  if (isOn) void audio.play().catch(() => undefined);
  live?.hear(isOn);
});

/* A media process that starts anew has forgotten who watches, and the browser says nothing of it, or says it late. */
function noteView({ viewers, source }) {
  const isJpeg = source !== null && source.format !== 'h264';
  for (const stage of stages) showElement(stage, isJpeg);
  const isShown = live !== null || missing.size < stages.length;
  unseenAsks = viewers > 0 || !isShown ? 0 : unseenAsks + 1;
  if (unseenAsks >= unseenAsksMax) lose();
}

function showElement({ name, stage, image, video, canvas }, isJpeg) {
  const isVideo = name === 'source' ? !isJpeg : main.dataset.output === 'h264';
  const shown = live === null ? image : isVideo ? video : canvas;
  for (const element of stage.children) element.hidden = element !== shown;
  const isMissing = live === null && missing.has(name);
  const isThere = shown.naturalWidth > 0 || shown.videoWidth > 0 || 'drawn' in shown.dataset;
  const note = document.querySelector('[data-missing="' + name + '"]');
  note.hidden = isThere && !isMissing;
  note.textContent = isMissing && !isOpening
    ? 'No picture: two may watch a call at once, and the media process has to be there.'
    : 'No picture yet.';
}

async function showWay() {
  const streams = missing.size < stages.length ? 'MJPEG' : 'not open';
  show('way', isOver ? 'closed' : live === null ? streams : 'WebRTC');
  placeOf('way').classList.toggle('good', live !== null);
  soundButton.title = live === null ? 'Sound needs WebRTC' : '';
  const { roundTrip = null, wait = null } = (await live?.delays().catch(() => undefined)) ?? {};
  const written = (ms) => (ms === null ? '–' : ms.toFixed(0));
  show('network', live === null ? '–' : written(roundTrip) + ' / ' + written(wait) + ' ms');
}

/* The last pictures stay. */
function closePictures() {
  isOver = true;
  live?.close();
  live = null;
  soundButton.disabled = true;
  for (const note of document.querySelectorAll('[data-missing]')) note.hidden = true;
  document.body.classList.add('over');
  void showWay();
}
`;
