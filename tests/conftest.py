from hypothesis import settings

# No test asserts a time, on machines that are as noisy as ours.
settings.register_profile("patient", settings.get_profile(settings.get_current_profile_name()), deadline=None)
settings.load_profile("patient")
