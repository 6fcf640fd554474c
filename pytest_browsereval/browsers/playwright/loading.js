() => {
  const loaded = new Set(performance.getEntriesByType('resource').map((entry) => entry.name));
  const parts = document.querySelectorAll('img, script, iframe, link[rel~=stylesheet], video, audio, object');
  const urls = [...parts].filter((part) => !part.complete && !part.sheet)
    .map((part) => part.currentSrc || part.src || part.href || part.data);
  return document.readyState === 'complete' ? null
    : [performance.timeOrigin, urls.find((url) => url && !loaded.has(url)) ?? ''];
}
