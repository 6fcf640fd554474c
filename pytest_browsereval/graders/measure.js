function(limit, deepest) {
  let size = 0, is_deep = false;
  const fits = (value, depth) => {
    if (typeof value === 'string') size += value.length + 2;
    else if (typeof value === 'number') size += (value + '').length;
    else if (typeof value === 'object' && value !== null) {
      if (depth > deepest) { is_deep = true; return false; }
      const own = {__proto__: null, ...value};
      for (const name in own) {
        size += +name >= 0 ? 1 : name.length + 4;
        if (!fits(own[name], depth + 1)) return false;
      }
    }
    return size <= limit;
  };
  return fits(this, 0) ? this : is_deep;
}
