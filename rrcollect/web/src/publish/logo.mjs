// @ts-check
/**
 * A logo: a PNG or a sequential JPEG of at most 1024 by 1024 pixels, whose size is known before anything draws it.
 */
const LARGEST_LOGO = 64 * 1024, MOST_PIXELS = 1024; // characters; of width and of height
const FORM = /^data:image\/(png|jpeg);base64,((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/;
const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, 0x49, 0x48, 0x44, 0x52];
const SEQUENTIAL = [0xc0, 0xc1], BEFORE_THE_FRAME = [0xc4, 0xdb, 0xdd, 0xfe]; // tables, restart interval, comment

/** What is wrong with the address of a logo, or null. @param {unknown} value @returns {string | null} */
export function faultOfLogo(value) {
  const form = typeof value === "string" && value.length <= LARGEST_LOGO ? FORM.exec(value) : null;
  if (!form) return `must be a data: address of a PNG or JPEG image of at most ${LARGEST_LOGO} characters`;
  const data = Uint8Array.from(atob(form[2]), (one) => one.charCodeAt(0)), size = (form[1] === "png" ? sizeOfPng : sizeOfJpeg)(data);
  if (!size) return "the image is not what its address says, a PNG or a sequential (not a progressive) JPEG";
  const small = size.every((side) => side >= 1 && side <= MOST_PIXELS);
  return small ? null : `the image has ${size[0]} by ${size[1]} pixels; at most ${MOST_PIXELS} by ${MOST_PIXELS} are shown`;
}

/** Its first chunk says width and height. @param {Uint8Array<ArrayBuffer>} data */
function sizeOfPng(data) {
  if (data.length < 24 || !PNG.every((one, i) => data[i] === one)) return null;
  const view = new DataView(data.buffer);
  return [view.getUint32(16), view.getUint32(20)];
}

/** The first frame says height and width, after segments that say their own length. @param {Uint8Array<ArrayBuffer>} data */
function sizeOfJpeg(data) {
  const view = new DataView(data.buffer);
  if (data[0] !== 0xff || data[1] !== 0xd8) return null;
  for (let at = 2; data.length >= at + 9 && data[at] === 0xff;) {
    const marker = data[at + 1], length = view.getUint16(at + 2);
    if (SEQUENTIAL.includes(marker)) return [view.getUint16(at + 7), view.getUint16(at + 5)];
    if (!(BEFORE_THE_FRAME.includes(marker) || (marker >= 0xe0 && marker < 0xf0)) || length < 2) return null;
    at += 2 + length;
  }
  return null;
}
