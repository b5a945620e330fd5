"use strict";

/** Copies every record; resolves to how many were written. */
async function copyAll(source, target) {
  let written = 0;
  const names = await source.names();
  names.forEach(async (name) => {
    const record = await source.read(name);
    await target.write(name, record);
    written += 1;
  });
  return written;
}

module.exports = { copyAll };
