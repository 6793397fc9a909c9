-- Refuses a gRPC request whose body is not one whole message: a byte that says whether it is compressed, four bytes of
-- length, and as many bytes as they say. What the client hears stands in replies.py.

local function is_whole(body, encoding)
  local size = body and body:length() or 0
  if size < 5 then
    return false
  end
  local compressed, a, b, c, d = string.byte(body:getBytes(0, 5), 1, 5)
  if ((a * 256 + b) * 256 + c) * 256 + d ~= size - 5 then
    return false
  end
  return compressed == 0 or (compressed == 1 and encoding ~= nil and encoding ~= "identity")
end

function envoy_on_request(handle)
  -- Headers cannot be read any more once the body was waited for.
  local headers = handle:headers()
  local kind, encoding = headers:get("content-type"), headers:get("grpc-encoding")
  if kind ~= nil and kind:sub(1, 16) == "application/grpc" and not is_whole(handle:body(), encoding) then
    handle:respond({[":status"] = "400"}, "")
  end
end
